import { type ComponentProps, useEffect, useRef, useState } from 'react'
import { count, exactly, faultOfAmount, weiOf } from '../data/format.ts'
import { useAbis, useAddressNames, useRelayers } from '../data/resources.ts'
import { tokenAmount, useToken } from './tokens.ts'

/**
 * An amount of a token, in its decimals where the service has its ABI and can ask a node, else in its smallest unit. `network`: absent: the one
 * where the service knows the token.
 */
export function TokenAmount({ token, units, network, isBare = false }: Its & { units: string; isBare?: boolean }) {
  const known = useTokenOn(token, network)
  const name = useAddressNames()(token)?.name
  if (known || name) return tokenAmount(units, known, name ?? '')
  return isBare ? count(BigInt(units)) : `${count(BigInt(units))} base units`
}

interface Its {
  token: string
  network?: string | undefined
}

function useTokenOn(token: string, network: string | undefined) {
  const place = useTokenNetwork(token)
  const relayer = useRelayers().data?.find((one) => one.network === (network ?? place))
  return useToken(relayer?.id ?? '', token)
}

type FieldProps = Its &
  Omit<ComponentProps<'input'>, 'value' | 'onChange'> & { units: string; change(units: string): void }

/** The field of an amount of a token, which is entered as `TokenAmount` shows it. `units`: the same in its smallest unit, or what is no amount. `per`: what it is for, in words. */
export function TokenAmountField({ token, network, per, ...field }: FieldProps & { per: string }) {
  const known = useTokenOn(token, network)
  const { symbol, decimals } = known ?? { symbol: 'base units', decimals: 0 }
  return (
    <span className="amount">
      <AmountInput key={decimals} {...field} disabled={known === undefined} unit={symbol} digits={decimals} />
      <span className="hint">
        {symbol} {per}
      </span>
    </span>
  )
}

/** What was entered before the token was known. */
const again = 'Enter the amount again, in the unit of the token.'

type AmountInputProps = Omit<FieldProps, keyof Its> & { unit: string; digits: number }

function AmountInput({ units, change, unit, digits, ...field }: AmountInputProps) {
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState({ text: '', units: '' })
  const shown = typed.units === units ? typed.text : /^\d+$/.test(units) ? exactly(units, digits) : units
  const isRead = units === '' || /^\d+$/.test(units)
  const fault = shown === '' ? undefined : (faultOfAmount(shown, unit, digits) ?? (isRead ? undefined : again))
  useEffect(() => input.current?.setCustomValidity(fault ?? ''), [fault])
  return (
    <input
      {...field}
      ref={input}
      inputMode="decimal"
      value={shown}
      onChange={({ target }) => {
        const text = target.value.replaceAll(/\s/g, '')
        const its = { text, units: weiOf(text, digits) ?? text }
        setTyped(its)
        change(its.units)
      }}
    />
  )
}

/** The network on which the service knows a token; undefined: none, or several. */
export function useTokenNetwork(token: string): string | undefined {
  const known = useAbis().data?.filter(({ address }) => address.toLowerCase() === token.toLowerCase()) ?? []
  return known.length === 1 ? known[0]?.network : undefined
}
