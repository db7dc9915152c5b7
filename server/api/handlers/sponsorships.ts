import { badRequest, transactionNotFound } from '../../domain/errors.ts'
import { type Caller, deletedIf, type Handlers, Page, page } from '../../domain/operation.ts'
import { readAddress } from '../../domain/values.ts'
import type { ServicesContext } from '../../services/context.ts'
import { findOwned } from '../../services/key-owners.ts'
import { findCall, sendCall, shownCallOf } from '../../services/sponsored-calls.ts'
import {
  createSponsorship,
  findSponsorship,
  showSponsorship,
  updateSponsorship,
  usageOfUser,
} from '../../services/sponsorships.ts'
import type { SponsorshipRow } from '../../store/queries/sponsorships.ts'
import { readFrom } from '../http/errors.ts'

export function sponsorships(context: ServicesContext) {
  const { store, keyring } = context
  const show = (sponsorship: SponsorshipRow) => showSponsorship(context, sponsorship)

  /** Throws DomainError (403, 404). */
  const own = (id: string, caller: Caller): Promise<SponsorshipRow> =>
    findOwned(caller, 'sponsorship_id', id, () => store.getSponsorship(id))

  return {
    createSponsorship: ({ body, auditEntry }) => createSponsorship(context, body, auditEntry),

    async listSponsorships({ query }) {
      const { data, pagination } = await page(query, store.listSponsorships, (row) => row)
      return new Page(await Promise.all(data.map(show)), pagination)
    },

    getSponsorship: async ({ path }) => show(await findSponsorship(context, path.sponsorship_id)),

    updateSponsorship: ({ path, body, auditEntry, ifMatch }) =>
      updateSponsorship(context, path.sponsorship_id, body, { auditEntry, ifMatch }),

    deleteSponsorship: async ({ path, auditEntry, ifMatch }) =>
      deletedIf(await store.deleteSponsorship(path.sponsorship_id, { auditEntry, ifMatch }), path.sponsorship_id),

    async getSponsoredUser({ path }) {
      const sponsorship = await findSponsorship(context, path.sponsorship_id)
      return usageOfUser(
        context,
        sponsorship,
        readFrom('/path', () => readAddress(path.user, ['user'])),
      )
    },

    async sendSponsoredCall({ path, body, caller, idempotency, auditEntry, authorize, nodes }) {
      const sponsorship = await own(path.sponsorship_id, caller)
      if (body.user != null && caller.roles.has('relay'))
        throw badRequest(['user'], 'may be given only with an API key that has the scope send')
      const mayUse = async () => own(path.sponsorship_id, await authorize())
      const { id, relayer_id } = await sendCall(
        context,
        { idempotency, auditEntry, nodes, authorize: mayUse },
        sponsorship,
        body,
      )
      const { row_id } = await keyring.findRelayer(relayer_id)
      const row = await store.getTransaction(row_id, id)
      if (!row) throw transactionNotFound(id)
      return shownCallOf(sponsorship, row)
    },

    async getSponsoredCall({ path, caller }) {
      const sponsorship = await own(path.sponsorship_id, caller)
      const call = await findCall(context, sponsorship, path.call_id)
      return call && shownCallOf(sponsorship, call)
    },
  } satisfies Partial<Handlers>
}
