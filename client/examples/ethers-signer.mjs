// ethers 6 with the signer of this package: an idempotency key for each transaction, and errors of the service.
import { readFileSync } from 'node:fs'
import { createRelayerClient } from '@evm-relayer-service/client'
import { RelayerSigner } from '@evm-relayer-service/client/ethers'
import { ContractFactory } from 'ethers'

const { RELAYER_URL = 'http://127.0.0.1:8080', RELAYER_API_KEY = '', RELAYER_ID = 'demo' } = process.env
const client = createRelayerClient({ baseUrl: RELAYER_URL, token: RELAYER_API_KEY })
const signer = new RelayerSigner(client, RELAYER_ID)

const { abi, bytecode } = JSON.parse(readFileSync(new URL('counter.json', import.meta.url), 'utf8'))
const counter = await new ContractFactory(abi, bytecode, signer).deploy()
await counter.waitForDeployment()
console.log('deployed at', await counter.getAddress())

const transaction = await counter.add(5, { customData: { speed: 'fast' } })
await transaction.wait()
console.log('count', await counter.count())
console.log('signature', await signer.signMessage('Hello'))
