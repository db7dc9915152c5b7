import { notFound, notificationNotFound, relayerNotFound, transactionNotFound } from '../../domain/errors.ts'
import type { PathParameter } from '../../domain/operation.ts'
import { apiKeyNotFound } from '../../services/api-keys.ts'
import { poolMissing } from '../../services/pools.ts'
import { ApiError } from './errors.ts'

const inDetails = (name: PathParameter, message: string): ApiError =>
  new ApiError('not_found', 'Not Found', [{ path: `/path/${name}`, message }])

/** What is said of a resource that does not exist, by the path parameter that names it. Clients compare these sentences. */
const errors: Record<PathParameter, (id: string) => Error> = {
  relayer_id: relayerNotFound,
  transaction_id: transactionNotFound,
  nonce: (nonce) => notFound(`Transaction with nonce ${nonce} not found`),
  notification_id: notificationNotFound,
  api_key_id: apiKeyNotFound,
  pool_id: poolMissing,
  network_id(id) {
    // The id of a network begins with its type.
    const hint = id.startsWith('evm:') ? '' : `; did you mean evm:${id}?`
    return inDetails('network_id', `no network has this id${hint}`)
  },
  signer_id: () => inDetails('signer_id', 'no signer has this id'),
  abi_id: () => inDetails('abi_id', 'no ABI has this id'),
  problem_id: () => inDetails('problem_id', 'no present problem has this id'),
  sponsorship_id: () => inDetails('sponsorship_id', 'no sponsorship has this id'),
  call_id: () => inDetails('call_id', 'no call has this id'),
  user: () => inDetails('user', 'no call is of this user'),
}

export const missing = (name: PathParameter, id: string): Error => errors[name](id)

/** The error (404) of an operation whose handler finds nothing: the last parameter of its path names what is missing. */
export function missingAt(path: string): (values: Record<string, string>) => Error {
  const name = path.match(/(?<=\{)\w+(?=\})/g)?.at(-1) as PathParameter | undefined
  if (name === undefined) return () => new Error(`the handler of ${path} returned nothing`)
  return (values) => missing(name, values[name] as string)
}
