import { DomainError, type Fault, missing } from '../../domain/errors.ts'
import type { Caller, PathParameter } from '../../domain/operation.ts'
import { nearestOf } from '../../lib/nearest.ts'
import { ApiError, detailsOf, messageOf } from './errors.ts'

/** The error (404) of an operation whose handler finds nothing: the last parameter of its path names what is missing. */
export function missingAt(path: string): (values: Record<string, string>) => Error {
  const name = path.match(/(?<=\{)\w+(?=\})/g)?.at(-1) as PathParameter | undefined
  if (name === undefined) return () => new Error(`the handler of ${path} returned nothing`)
  return (values) => missing(name, values[name] as string)
}

/** The resources that a member names: of a path, or of a body. */
const tables = {
  relayer_id: 'relayers',
  relayer_ids: 'relayers',
  from: 'relayers',
  pool_id: 'pools',
  pool_ids: 'pools',
  network_id: 'networks',
  network: 'networks',
  signer_id: 'signers',
  notification_id: 'notifications',
} as const

type Table = (typeof tables)[keyof typeof tables]

/** What there is that a caller may have meant. */
export interface Known {
  someIds(table: Table): Promise<string[]>
  relayerOfTransaction(id: string): Promise<{ relayer_id: string; is_deleted: boolean } | undefined>
}

/**
 * An error about an unknown id, of the path (404) or of the body (400), with the nearest id among those that the caller may see, or with
 * where a transaction is. Another error stays as it is.
 */
export async function withNearest(
  error: unknown,
  { params, body }: { params: Record<string, unknown>; body?: unknown },
  caller: Caller | undefined,
  known: Known,
): Promise<unknown> {
  if (!(error instanceof DomainError) || !caller?.roles.has('read')) return error
  const near = (name: string, id: unknown) => nearestTo(name, id, caller, known)
  if (error.code === 'not_found') {
    const whereabouts = await ofTransaction(params.transaction_id, caller, known)
    return whereabouts === undefined ? ofPath(error, params, near) : withDetail(error, 'transaction_id', whereabouts)
  }
  if (error.faults.every(({ code }) => code !== 'not_found')) return error
  const faults = error.faults.map(async (fault): Promise<Fault> => {
    const names = fault.field.map(String)
    const given = names.reduce((its, name) => (its as Record<string, unknown> | undefined)?.[name], body)
    const id = await near(names.findLast((name) => name in tables) ?? '', given)
    return id === undefined ? fault : { ...fault, message: `${fault.message}; did you mean ${id}?` }
  })
  return new DomainError(error.code, await Promise.all(faults), error.data)
}

type Near = (name: string, id: unknown) => Promise<string | undefined>

async function ofPath(error: DomainError, params: Record<string, unknown>, near: Near): Promise<DomainError> {
  for (const [name, given] of Object.entries(params)) {
    const id = await near(name, given)
    if (id === undefined) continue
    return withDetail(error, name, `there is no ${given}; did you mean ${id}?`)
  }
  return error
}

function withDetail(error: DomainError, name: string, message: string): DomainError {
  const path = `/path/${name}`
  const others = detailsOf(error).filter((detail) => detail.path !== path)
  return new ApiError('not_found', messageOf(error), [...others, { path, message }])
}

/** Where the transaction is that was not found; undefined: nowhere, or where the caller sees nothing. */
async function ofTransaction(id: unknown, { relayer_ids: own }: Caller, known: Known): Promise<string | undefined> {
  const owner = typeof id === 'string' ? await known.relayerOfTransaction(id) : undefined
  if (!owner || own?.has(owner.relayer_id) === false) return undefined
  return owner.is_deleted
    ? `the relayer ${owner.relayer_id}, which had this transaction, was deleted, and its transactions with it`
    : `the relayer ${owner.relayer_id} has this transaction`
}

/** The id of a network is its type and its name. */
const formOf: Record<string, (text: string) => string> = {
  network: (text) => text.replace(/^evm:/, ''),
  network_id: (text) => (text.startsWith('evm:') ? text : `evm:${text}`),
}

async function nearestTo(name: string, id: unknown, { relayer_ids: own }: Caller, { someIds }: Known) {
  if (typeof id !== 'string' || !(name in tables)) return undefined
  const table = tables[name as keyof typeof tables]
  const ids = own === undefined ? await someIds(table) : table === 'relayers' ? [...own] : []
  const form = formOf[name] ?? ((its: string) => its)
  const names = ids.map(form)
  return names.includes(id) ? undefined : nearestOf(form(id), names)
}
