import { encodeErrorResult, parseAbi, parseAbiItem, toFunctionSelector } from 'viem'
import { expect, test } from 'vitest'
import { contractErrorIn, signatureOf } from '../../client/console/transactions/contract-error.ts'

const [payer, other] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`] as const
const abi = [
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC20InvalidSender(address sender)',
  'error ERC20InvalidReceiver(address receiver)',
  'error ERC20InvalidApprover(address approver)',
  'error ERC20InvalidSpender(address spender)',
  'error ERC721NonexistentToken(uint256 tokenId)',
  'error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)',
  'error ERC721InsufficientApproval(address operator, uint256 tokenId)',
  'error ERC721InvalidOwner(address owner)',
  'error ERC721InvalidSender(address sender)',
  'error ERC721InvalidReceiver(address receiver)',
  'error ERC721InvalidApprover(address approver)',
  'error ERC721InvalidOperator(address operator)',
]

/** The meaning with the arguments in their places. */
const said = (text: string, data?: string) => {
  const found = contractErrorIn(text, data)
  return found?.meaning.replaceAll(/\{(\w+)\}/g, (_, name) => found.args[name] ?? 'absent')
}

test.each(abi)('reads from the bytes what it reads from the text: %s', (fragment) => {
  const item = parseAbiItem(fragment)
  if (item.type !== 'error') throw new Error('no error')
  const args = item.inputs.map(({ type }, index) =>
    type === 'address' ? [payer, other, other][index] : BigInt(index + 7),
  )
  const data = encodeErrorResult({ abi: parseAbi([fragment]), errorName: item.name, args } as never)
  const unknown = `Failed: unknown custom error ${toFunctionSelector(fragment.replace('error ', ''))} (${args.length * 32} bytes of arguments).`
  const signature = `${item.name}(${item.inputs.map(({ name }, index) => `${name}: ${args[index]}`).join(', ')})`
  expect(contractErrorIn(unknown, data)).toMatchObject({ signature, part: unknown.slice('Failed: '.length, -1) })
  expect(said(unknown, data)).toBe(said(`Failed: ${signature}.`))
  expect(said(unknown, data)).not.toMatch(/absent|[{}]/)
})

test('says the error of a token in words', () => {
  const text = `Reverted: ERC20InsufficientBalance(sender: ${payer}, balance: 1, needed: 2)`
  expect(said(text)).toBe(`${payer} has 1, the transfer needs 2`)
  expect(said(`ERC20InsufficientBalance(${payer}, 1, 2)`)).toBe(`${payer} has 1, the transfer needs 2`)
  expect(contractErrorIn('Reverted: Denied(needed: 2)')).toBeUndefined()
  expect(contractErrorIn('ERC20InsufficientBalance(1, 2)')).toBeUndefined()
  expect(contractErrorIn('unknown custom error 0xe450d38c (96 bytes of arguments)', '0xe450d38c00')).toBeUndefined()
})

test('says a panic in words, and writes errors as Solidity does', () => {
  expect(said('Failed: panic 0x11 (arithmetic overflow or underflow).')).toBe(
    'arithmetic overflow or underflow in the contract',
  )
  expect(said('panic 0x99 (no known code)')).toBe('a fault in the contract')
  const of = (message: string, revertData: string | null) => signatureOf({ message, revert_data: revertData })
  expect(of('panic 0x11 (arithmetic overflow or underflow)', null)).toBe('Panic(0x11)')
  expect(of('paused by the owner', '0x08c379a000')).toBe('Error("paused by the owner")')
  expect(of('Denied(needed: 2)', '0x12345678')).toBeUndefined()
})
