import type {
  AmountInput,
  CreateNetworkRequest,
  Network,
  PrivateRpcUrl,
  PrivateRpcUrlInput,
  RpcUrl,
  RpcUrlInput,
  Submission,
  SubmissionInput,
  UpdateNetworkRequest,
} from '../../generated/openapi.ts'
import { conflict } from '../domain/errors.ts'
import { networkDefaults, withDefaults } from '../domain/network-defaults.ts'
import type { NodeAccess } from '../domain/node-access.ts'
import type { Conditions, PendingAuditEntry } from '../domain/rows.ts'
import { readSubmission } from '../domain/submission.ts'
import { readAddress, readAmount, showRpcUrls } from '../domain/values.ts'
import type { ServicesContext } from './context.ts'
import { isDeleted } from './deletions.ts'
import { nodeWarnings, readPrivateRpcUrls, readRpcUrls } from './rpc-urls.ts'

/* Networks: a chain, and the nodes that it is reached by. */

type NetworksContext = Pick<ServicesContext, 'store' | 'checkTarget' | 'chains'>

/** Throws DomainError (400, 409). */
export async function createNetwork(
  context: NetworksContext,
  nodes: NodeAccess,
  body: CreateNetworkRequest,
  auditEntry: PendingAuditEntry,
): Promise<Network> {
  const network = {
    ...networkDefaults(body.chain_id),
    ...normalized(body),
    submission: submissionOf(body.submission),
    id: `evm:${body.name}`,
    rpc_urls: publicUrls(context, body.rpc_urls),
    private_rpc_urls: privateUrls(context, body.private_rpc_urls),
  }
  readSubmission(network.submission, network)
  auditEntry.subject = network.id
  const created = await context.store.createNetwork(network, auditEntry)
  if (!created) throw conflict('already_exists', ['name'], 'a network with this name already exists')
  return shownChecked(context, nodes, created)
}

/** Undefined: there is none. Throws DomainError (400, 412). */
export async function updateNetwork(
  context: NetworksContext,
  nodes: NodeAccess,
  id: string,
  { body, ...conditions }: Conditions & { body: UpdateNetworkRequest },
): Promise<Network | undefined> {
  const { rpc_urls, private_rpc_urls, submission, ...rest } = normalized(body)
  const change = (current: Network): Network => {
    const changed = {
      ...current,
      ...withDefaults(rest, current.chain_id),
      ...(submission !== undefined && { submission: submissionOf(submission) }),
      ...(rpc_urls && { rpc_urls: publicUrls(context, rpc_urls, current.rpc_urls) }),
      ...(private_rpc_urls !== undefined && {
        private_rpc_urls: privateUrls(context, private_rpc_urls, current.private_rpc_urls),
      }),
    }
    readSubmission(changed.submission, changed)
    return changed
  }
  const network = await context.store.updateNetwork(id, change, conditions)
  if (!network) return undefined
  return rpc_urls === undefined ? showNetwork(network) : shownChecked(context, nodes, network)
}

/** Whether there was one. Throws DomainError (409, 412). */
export async function deleteNetwork(
  { store }: Pick<ServicesContext, 'store'>,
  id: string,
  conditions: Conditions,
): Promise<boolean> {
  const outcome = await store.deleteNetwork(id, conditions)
  return isDeleted('network_id', outcome)
}

/** A network without the secret parts of its URLs. */
export const showNetwork = (network: Network): Network => ({
  ...network,
  rpc_urls: showRpcUrls(network.rpc_urls),
  private_rpc_urls: showRpcUrls(network.private_rpc_urls),
})

/** Adds warnings about its nodes. */
async function shownChecked({ chains }: NetworksContext, nodes: NodeAccess, network: Network): Promise<Network> {
  return { ...showNetwork(network), warnings: await nodeWarnings(chains, nodes, network.name) }
}

const publicUrls = (
  { checkTarget: check }: NetworksContext,
  inputs: readonly RpcUrlInput[],
  stored: RpcUrl[] = [],
): RpcUrl[] => readRpcUrls(inputs, { field: ['rpc_urls'], check, stored })

const privateUrls = (
  { checkTarget: check }: NetworksContext,
  inputs: readonly PrivateRpcUrlInput[] | null = [],
  stored: PrivateRpcUrl[] = [],
): PrivateRpcUrl[] => readPrivateRpcUrls(inputs ?? [], { field: ['private_rpc_urls'], check, stored })

const submissionOf = (given: SubmissionInput | null = null): Submission => ({
  mode: 'public',
  after_blocks: null,
  ...given,
})

const readPrice = (given: AmountInput | null, name: string): string | null =>
  given === null ? null : readAmount(given, [name])

type Inputs = Pick<UpdateNetworkRequest, 'min_priority_fee_per_gas' | 'min_gas_price' | 'coin_token'>

/** A body with its amounts and addresses in normal form. Throws DomainError (400). */
function normalized<B extends Inputs>({
  min_priority_fee_per_gas: tip,
  min_gas_price: price,
  coin_token: token,
  ...rest
}: B) {
  return {
    ...rest,
    ...(tip !== undefined && { min_priority_fee_per_gas: readPrice(tip, 'min_priority_fee_per_gas') }),
    ...(price !== undefined && { min_gas_price: readPrice(price, 'min_gas_price') }),
    ...(token !== undefined && {
      coin_token: token && { ...token, address: readAddress(token.address, ['coin_token', 'address']) },
    }),
  }
}
