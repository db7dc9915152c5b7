import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Transaction } from '../../index.ts'
import { exactAmount, inCoins, short, withGroups } from '../data/format.ts'
import { useAddressNames, useSymbolsOfRelayers } from '../data/resources.ts'
import { amountPlace, type Token, useToken } from './tokens.ts'

/** An argument of an error: `balance: 1000000`. */
const argument = /(?<=[(,]\s?)(?:(\w+): )?(0x[\da-f]{40}|\d+)(?=[,)])/gi
/** Of the errors of ERC-6093: the arguments that are amounts of the token. */
const amounts = /^(?:balance|allowance|needed)$/

export const hasTokenAmounts = (text: string): boolean => /\bERC20Insufficient\w+\(/.test(text)

interface ReasonProps {
  text: string
  of: Pick<Transaction, 'relayer_id' | 'to' | 'call'>
  isPlain?: boolean
}

/**
 * Why a transaction failed or waits: amounts in the unit of its network or of the token that it calls, and addresses by their names. The exact ones are in the titles. `isPlain`: in a
 * link, which has no links.
 */
export function Reason({ text: said, of: its, isPlain = false }: ReasonProps) {
  const called = useToken(its.relayer_id, its.to ?? '')
  // Of another function, the error may be that of another token.
  const isOfToken = hasTokenAmounts(said)
  const token = isOfToken && amountPlace(its.call) !== -1 ? called : null
  const text = inCoins(said, useSymbolsOfRelayers()(its.relayer_id))
  if (token === undefined) return '…'
  const parts: ReactNode[] = []
  let end = 0
  for (const found of text.matchAll(argument)) {
    const [whole, name, value = ''] = found
    parts.push(withGroups(text.slice(end, found.index)), name === undefined ? '' : `${name}: `)
    parts.push(
      <Value key={found.index} isPlain={isPlain} value={value} token={amounts.test(name ?? '') ? token : null} />,
    )
    end = found.index + whole.length
  }
  parts.push(withGroups(text.slice(end)))
  if (isOfToken && token === null) parts.push(' (amounts of the token in its smallest unit)')
  return parts
}

function Value({ value, token, isPlain }: { value: string; token: Token | null; isPlain: boolean }) {
  const named = useAddressNames()(value)
  if (token) return <span title={value}>{exactAmount(value, token.symbol, token.decimals)}</span>
  if (!value.startsWith('0x')) return <span title={value}>{withGroups(`(${value})`).slice(1, -1)}</span>
  if (!named) return <span title={value}>{short(value)}</span>
  return isPlain || named.to === undefined ? (
    <strong title={value}>{named.name}</strong>
  ) : (
    <Link to={named.to} title={value}>
      {named.name}
    </Link>
  )
}
