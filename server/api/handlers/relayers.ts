import type { Relayer, ResourceWarning } from '../../../generated/openapi.ts'
import { badRequest, conflict, relayerNotFound, unknownReference } from '../../domain/errors.ts'
import { type Caller, creatorSeenBy, deleted, type Handlers, page } from '../../domain/operation.ts'
import { addressWarnings } from '../../domain/policies/signing-policies.ts'
import { requireRevision } from '../../domain/revision.ts'
import type { NewRelayer, RelayerObstacle, RelayerRow } from '../../domain/rows.ts'
import { showRelayer } from '../../domain/show-relayer.ts'
import type { ServicesContext } from '../../services/context.ts'
import { nodeWarnings, readRpcUrls } from '../../services/rpc-urls.ts'
import { conflictAt } from '../http/errors.ts'
import { listPolicies, mergePolicies, readPolicies } from './policies.ts'

type Relayers = Pick<
  Handlers,
  'createRelayer' | 'listRelayers' | 'getRelayer' | 'updateRelayer' | 'deleteRelayer' | 'drainRelayer'
>

export function relayers(context: ServicesContext): Relayers {
  const { store, makeId, checkTarget, chains, nonces } = context
  const readUrls = (urls: Parameters<typeof readRpcUrls>[0]) => readRpcUrls(urls, ['custom_rpc_urls'], checkTarget)

  /** Adds these warnings, and those about other relayers on the same address. */
  async function showOne(relayer: RelayerRow, caller: Caller, more: ResourceWarning[] = []): Promise<Relayer> {
    const ofAddress = addressWarnings({ relayer, on_address: await store.relayersOn(relayer.address) }, caller)
    const warnings = [...ofAddress, ...more]
    return warnings.length === 0 ? showRelayer(relayer) : { ...showRelayer(relayer), warnings }
  }

  return {
    async createRelayer({ body, caller, auditEntry, nodes }) {
      const { id = makeId(), notification_id, notification_ids, policies = {}, custom_rpc_urls = [], ...rest } = body
      const relayer: NewRelayer = {
        ...rest,
        id,
        notification_ids: reportsTo(notification_id, notification_ids) ?? [],
        policies: readPolicies(policies),
        custom_rpc_urls: readUrls(custom_rpc_urls),
        system_disabled: false,
        disabled_reason: null,
      }
      nodes.name(custom_rpc_urls.length)
      auditEntry.relayer_id = id
      const created = await store.createRelayer(relayer, auditEntry)
      if (typeof created === 'string') throw refusal(created, body)
      // An account without unfinished transactions has no lane that follows its chain, so the request does it.
      nonces.unknown.compare(created).catch(() => undefined)
      return showOne(created, caller, await nodeWarnings(chains, nodes, created.network, created.custom_rpc_urls))
    },

    listRelayers: ({ query, caller }) =>
      page(query, (slice) => store.listRelayers(slice, caller.relayer_ids), showRelayer),

    async getRelayer({ path, caller }) {
      const relayer = await store.getRelayer(path.relayer_id)
      if (!relayer) throw relayerNotFound(path.relayer_id)
      return showOne(relayer, caller)
    },

    async updateRelayer({ path, body, caller, auditEntry, ifMatch, nodes }) {
      requireRevision(ifMatch, body, body.policies === null ? ['notification_ids', 'policies'] : ['notification_ids'])
      requireRevision(ifMatch, body.policies ?? {}, listPolicies)
      const { policies, custom_rpc_urls, notification_id, notification_ids, ...rest } = body
      const reports = reportsTo(notification_id, notification_ids)
      const urls = custom_rpc_urls === undefined ? {} : { custom_rpc_urls: readUrls(custom_rpc_urls ?? []) }
      nodes.name(custom_rpc_urls?.length ?? 0)
      const change = (current: RelayerRow): RelayerRow => {
        // One in the place of several, which a client of the OpenZeppelin Relayer does not know.
        if (current.notification_ids.length > 1) requireRevision(ifMatch, body, ['notification_id'])
        return {
          ...current,
          ...rest,
          ...urls,
          ...(reports && { notification_ids: reports }),
          policies: policies === undefined ? current.policies : mergePolicies(current.policies, policies),
        }
      }
      const updated = await store.updateRelayer(path.relayer_id, change, {
        auditEntry,
        ifMatch,
        creator: creatorSeenBy(caller),
      })
      if (updated === 'missing') throw relayerNotFound(path.relayer_id)
      if (typeof updated === 'string') throw refusal(updated, body)
      context.changed()
      return showOne(updated, caller)
    },

    async drainRelayer({ path, auditEntry }) {
      const { relayer_id } = path
      const drained = (current: RelayerRow): RelayerRow => ({
        ...current,
        policies: { ...current.policies, allow_transactions: false },
      })
      let relayer = await store.getRelayer(relayer_id)
      if (!relayer) throw relayerNotFound(relayer_id)
      if (relayer.policies.allow_transactions !== false) {
        const updated = await store.updateRelayer(relayer_id, drained, { auditEntry })
        if (updated === 'missing') throw relayerNotFound(relayer_id)
        if (typeof updated === 'string') throw refusal(updated)
        relayer = updated
        context.changed()
      }
      const { row_id } = relayer
      const mined = await store.listTransactions(row_id, { offset: 0, limit: 0 }, { status: ['mined'] })
      const pendingTransactionsCount = await store.countUnfinished(row_id)
      const minedTransactionsCount = mined.total_items
      const finished = pendingTransactionsCount + minedTransactionsCount === 0
      return {
        pending_transactions_count: pendingTransactionsCount,
        mined_transactions_count: minedTransactionsCount,
        finished,
      }
    },

    async deleteRelayer({ path, auditEntry, ifMatch }) {
      const outcome = await store.deleteRelayer(path.relayer_id, { auditEntry, ifMatch })
      if (outcome === 'missing') throw relayerNotFound(path.relayer_id)
      if (outcome === 'in_use')
        throw conflictAt(
          'in_use',
          '/path/relayer_id',
          'the relayer has unfinished transactions; cancel them or wait until they end',
        )
      if (outcome === 'treasury')
        throw conflictAt('in_use', '/path/relayer_id', 'the relayer funds other relayers; end their funding first')
      return deleted(path.relayer_id)
    },
  }
}

function refusal(obstacle: RelayerObstacle, { notification_id }: { notification_id?: string | null } = {}) {
  switch (obstacle) {
    case 'id_taken':
      return conflict('already_exists', ['id'], 'a relayer with this ID already exists')
    case 'address_taken':
      return badRequest(
        ['signer_id'],
        "another relayer uses the signer's address on this chain id; an address has one relayer per chain",
      )
    case 'unknown_network':
      return unknownReference(['network'], 'no network has this name')
    case 'unknown_signer':
      return unknownReference(['signer_id'], 'no signer has this ID')
    case 'unknown_notification':
      return typeof notification_id === 'string'
        ? unknownReference(['notification_id'], 'no notification has this ID')
        : badRequest(['notification_ids'], 'must be the IDs of notifications; one of them has none')
  }
}

/** The notifications that a request names; undefined: it names none. */
const reportsTo = (id: string | null | undefined, ids: string[] | undefined): string[] | undefined =>
  ids ?? (id === undefined ? undefined : id === null ? [] : [id])
