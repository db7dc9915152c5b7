import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Transaction } from '../../index.ts'
import { Block, Pending } from '../components/values.tsx'
import { exactAmount, inCoins, short, withGroups } from '../data/format.ts'
import { useAddressNames, useRelayers, useSymbolsOfRelayers } from '../data/resources.ts'
import { contractErrorIn } from './contract-error.ts'
import { amountPlace, type Token, useToken } from './tokens.ts'

/** An argument of an error: `balance: 1000000`. */
const argument = /(?<=[(,]\s?)(?:(\w+): )?(0x[\da-f]{40}|\d+)(?=[,)])/gi
/** Of the errors of ERC-6093: the arguments that are amounts of the token. */
const amounts = /^(?:balance|allowance|needed)$/

export const hasTokenAmounts = (text: string, revertData?: string | null): boolean =>
  /\bERC20Insufficient\w+\(/.test(contractErrorIn(text, revertData)?.signature ?? text)

interface ReasonProps {
  text: string
  of: Pick<Transaction, 'relayer_id' | 'to' | 'call'> & { error?: Transaction['error'] }
  isPlain?: boolean
}

/**
 * Why a transaction failed or waits: the usual errors of contracts in words, amounts in the unit of its network or of the token that it calls,
 * and addresses by their names. The exact ones are in the titles. `isPlain`: in a link, which has no links.
 */
export function Reason({ text, of: its, isPlain = false }: ReasonProps) {
  const called = useToken(its.relayer_id, its.to ?? '')
  const symbol = useSymbolsOfRelayers()(its.relayer_id)
  const network = useRelayers().data?.find(({ id }) => id === its.relayer_id)?.network
  const found = contractErrorIn(text, its.error?.revert_data)
  const isOfToken = hasTokenAmounts(text, its.error?.revert_data)
  // Of another function, the error may be that of another token.
  const token = isOfToken && amountPlace(its.call) !== -1 ? called : null
  if (token === undefined) return <Pending />
  const value = (name: string, given: string, key: number) => (
    <Value key={key} isPlain={isPlain} value={given} token={amounts.test(name) ? token : null} />
  )
  const unit = isOfToken && token === null && ' (amounts of the token in its smallest unit)'
  const block = (number: string) =>
    isPlain || network === undefined ? (
      number
    ) : (
      <Block key={`block ${number}`} number={Number(number.replaceAll(',', ''))} network={network} />
    )
  if (!found)
    return [
      ...withValues(inCoins(text, symbol), value).flatMap((part) =>
        typeof part === 'string' ? withBlocks(part, block) : [part],
      ),
      unit,
    ]
  const [before = '', after = ''] = text.split(found.part)
  // Every other part of the split is the name of an argument.
  const words = found.meaning.split(/\{(\w+)\}/)
  return (
    <>
      {before}
      <span title={found.signature}>
        {words.map((word, index) => (index % 2 === 0 ? word : value(word, found.args[word] ?? '', index)))}
      </span>
      {unit}
      {after}
    </>
  )
}

/** A text whose arguments of errors are shown as values. */
function withValues(text: string, value: (name: string, given: string, key: number) => ReactNode): ReactNode[] {
  const parts: ReactNode[] = []
  let end = 0
  for (const found of text.matchAll(argument)) {
    const [whole, name, given = ''] = found
    parts.push(withGroups(text.slice(end, found.index)), name === undefined ? '' : `${name}: `)
    parts.push(value(name ?? '', given, found.index))
    end = found.index + whole.length
  }
  return [...parts, withGroups(text.slice(end))]
}

/** Every other part of the split is the number of a block. */
const withBlocks = (text: string, block: (number: string) => ReactNode): ReactNode[] =>
  text.split(/(?<=\bblock )([\d,]*\d)/).map((part, index) => (index % 2 === 0 ? part : block(part)))

function Value({ value, token, isPlain }: { value: string; token: Token | null; isPlain: boolean }) {
  const named = useAddressNames()(value)
  if (token) return <span title={value}>{exactAmount(value, token.symbol, token.decimals)}</span>
  if (!value.startsWith('0x')) return <span title={value}>{withGroups(`(${value})`).slice(1, -1)}</span>
  if (!named) return <span title={value}>{short(value)}</span>
  return isPlain ? (
    <strong title={value}>{named.name}</strong>
  ) : (
    <Link to={named.to} title={value}>
      {named.name}
    </Link>
  )
}
