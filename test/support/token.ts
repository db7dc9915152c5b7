import { getCreateAddress, Interface } from 'ethers'
import type { Account, Rig } from './rig.ts'

const erc20 = new Interface([
  'function balanceOf(address owner) view returns (uint256)',
  'function transfer(address to, uint256 amount) returns (bool)',
])
const selector = (name: string) => (erc20.getFunction(name)?.selector ?? '').slice(2)

const balanceOfAt = '24'
const transferAt = '34'
const refusedAt = '58'
/** The balance of an address is in the storage slot of its number. */
const runtime = [
  '60003560e01c', // the selector
  `8063${selector('balanceOf')}1460${balanceOfAt}57`,
  `63${selector('transfer')}1460${transferAt}57`,
  '60006000fd',
].join('')
const balanceOf = '5b60043554' + '60005260206000f3'
const transfer = [
  '5b602435', // the amount
  '3354', // and the sender's balance
  `80821160${refusedAt}57`, // less than the amount: refused
  '81900333' + '55', // the sender's new balance
  '600435540160043555', // the receiver's
  '600160005260206000f3',
].join('')
const refused = '5b60006000fd'

const at = (code: string, hex: string) => code.padEnd(Number.parseInt(hex, 16) * 2, '00')
const code = at(at(at(runtime, balanceOfAt) + balanceOf, transferAt) + transfer, refusedAt) + refused
const length = (code.length / 2).toString(16).padStart(2, '0')

/** Stores the supply as the sender's balance, and returns the code behind it. */
const creation = (supply: bigint) =>
  `0x61${supply.toString(16).padStart(4, '0')}335560${length}601160003960${length}6000f3${code}`

/** Deploys an ERC-20 token whose whole supply (below 65,536) belongs to the account. Resolves to its address. */
export async function deployToken(
  rig: Rig,
  { relayer_id, address, finished }: Account,
  supply: bigint,
): Promise<string> {
  const { data } = await rig.client().post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id },
    body: { data: creation(supply) },
  })
  await finished()
  return getCreateAddress({ from: address, nonce: data.nonce ?? 0 }).toLowerCase()
}

export async function tokenBalance(rig: Rig, token: string, owner: string): Promise<bigint> {
  const body = {
    method: 'eth_call',
    params: [{ to: token, data: erc20.encodeFunctionData('balanceOf', [owner]) }, 'latest'],
  }
  const response = await fetch(rig.chain.url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
  })
  return BigInt(((await response.json()) as { result: string }).result)
}
