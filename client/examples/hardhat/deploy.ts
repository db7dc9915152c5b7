// npx hardhat run --no-compile deploy.ts
import { readFileSync } from 'node:fs'
import { network } from 'hardhat'

const { ethers } = await network.create('relayer')
const [signer] = await ethers.getSigners()
const { abi, bytecode } = JSON.parse(readFileSync('../counter.json', 'utf8'))

const counter = await new ethers.ContractFactory(abi, bytecode, signer).deploy()
await counter.waitForDeployment()
console.log('deployed at', await counter.getAddress())

const transaction = await counter.getFunction('add')(5)
await transaction.wait()
console.log('count', await counter.getFunction('count')())
