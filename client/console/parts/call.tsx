import { type AbiFunction, erc20Abi, parseAbi, toFunctionSignature } from 'viem'
import type { Transaction } from '../../index.ts'
import { useAbi, useAbis, useNames } from '../data/names.ts'
import { amountPlace, tokenAmount, useToken } from '../data/tokens.ts'
import { Arguments } from './arguments.tsx'

/** The function that a transaction calls, with its arguments by the names of the service's ABI, or those of ERC-20. */
export function Call({ its, network }: { its: Transaction; network: string | undefined }) {
  const { call, relayer_id } = its
  const to = its.to?.toLowerCase() ?? ''
  const known = useAbis().data?.find((one) => one.network === network && one.address.toLowerCase() === to)
  const entries = useAbi(known?.id).data ?? []
  const token = useToken(relayer_id, to)
  const name = useNames()(to)?.name ?? 'the token'
  if (!call) return null
  const inputs = inputsOf(entries, call.function)
  const all = call.args.map((value, index) => ({
    name: inputs[index]?.name,
    type: inputs[index]?.type ?? '',
    value,
  }))
  return (
    <div>
      <code>{call.function}</code>
      {all.length > 0 && (
        <Arguments
          all={all}
          network={network}
          amountOf={({ value }, index) =>
            index === amountPlace(call) ? tokenAmount(`${value}`, token, name) : undefined
          }
        />
      )}
    </div>
  )
}

/** Without an ABI: the types that the signature has, where none is a tuple. */
function inputsOf(entries: string[], signature: string): readonly { name?: string | undefined; type: string }[] {
  const found = [...functionsOf(entries), ...erc20Abi.filter(({ type }) => type === 'function')].find(
    (one) => toFunctionSignature(one as AbiFunction) === signature,
  )
  if (found) return found.inputs
  const types = /\(([^()]+)\)$/.exec(signature)?.[1]?.split(',') ?? []
  return types.map((type) => ({ type }))
}

/** An ABI that cannot be read has none. */
function functionsOf(entries: string[]): AbiFunction[] {
  try {
    return parseAbi(entries.filter((entry) => entry.startsWith('function '))) as unknown as AbiFunction[]
  } catch {
    return []
  }
}
