import { Interface } from 'ethers'

/** A contract with a number: `set`, `get`, and `fail`, which reverts with the custom error Broke(7). */
export const counterAbi = [
  {
    type: 'function',
    name: 'set',
    stateMutability: 'nonpayable',
    inputs: [{ name: 'number', type: 'uint256' }],
    outputs: [],
  },
  { type: 'function', name: 'get', stateMutability: 'view', inputs: [], outputs: [{ name: '', type: 'uint256' }] },
  { type: 'function', name: 'fail', stateMutability: 'nonpayable', inputs: [], outputs: [] },
  { type: 'error', name: 'Broke', inputs: [{ name: 'why', type: 'uint256' }] },
] as const

const abi = new Interface(counterAbi)
const selector = (name: string) => (abi.getFunction(name)?.selector ?? '').slice(2)
const broke = (abi.getError('Broke')?.selector ?? '').slice(2)

const runtime = [
  '60003560e01c', // the selector
  `8063${selector('set')}14602857`,
  `8063${selector('get')}14603057`,
  `8063${selector('fail')}14603c57`,
  '600080fd',
  '5b60043560005500', // 0x28: stores the argument
  '5b60005460005260206000f3', // 0x30: returns it
  `5b63${broke}60e01b600052600760045260246000fd`, // 0x3c: reverts with Broke(7)
].join('')

const length = (runtime.length / 2).toString(16).padStart(2, '0')

/** Copies the runtime code behind it, and returns it. */
export const counterBytecode = `0x60${length}600c60003960${length}6000f3${runtime}` as const
