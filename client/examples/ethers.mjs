// ethers 6 as it is: deploys a contract through a relayer, and calls it.
import { readFileSync } from 'node:fs'
import { ContractFactory, FetchRequest, JsonRpcProvider } from 'ethers'

const { RELAYER_URL = 'http://127.0.0.1:8080', RELAYER_API_KEY, RELAYER_ID = 'demo' } = process.env
const relayer = new FetchRequest(`${RELAYER_URL}/api/v1/relayers/${RELAYER_ID}/rpc`)
relayer.setHeader('Authorization', `Bearer ${RELAYER_API_KEY}`)
const provider = new JsonRpcProvider(relayer, undefined, { pollingInterval: 1_000 })
const signer = await provider.getSigner()

const { abi, bytecode } = JSON.parse(readFileSync(new URL('counter.json', import.meta.url), 'utf8'))
const counter = await new ContractFactory(abi, bytecode, signer).deploy()
await counter.waitForDeployment()
console.log('deployed at', await counter.getAddress())

const transaction = await counter.add(5)
await transaction.wait()
console.log('count', await counter.count())
console.log('signature', await signer.signMessage('Hello'))
