import { type Caller, deletedIf, type Handlers, Page, page } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import { createFacilitator, showFacilitator, updateFacilitator } from '../../services/facilitators.ts'
import { findOwned } from '../../services/key-owners.ts'
import { settlePayment, supportedPayments, verifyPayment } from '../../services/settlement.ts'
import { WaitPlace } from '../../services/transactions/wait-for-status.ts'
import type { FacilitatorRow } from '../../store/queries/facilitators.ts'
import { showPayment } from '../../store/queries/payments.ts'

export function facilitators(context: ServicesContext) {
  const { store, shares, facilitators: cache } = context
  const show = (facilitator: FacilitatorRow) => showFacilitator(context, facilitator)

  /** Throws DomainError (403, 404). */
  const own = (id: string, caller: Caller): Promise<FacilitatorRow> =>
    findOwned(caller, 'facilitator_id', id, () => cache.find(id, () => store.getFacilitator(id)))

  return {
    createFacilitator: ({ body, auditEntry }) => createFacilitator(context, body, auditEntry),

    async listFacilitators({ query }) {
      const { data, pagination } = await page(query, store.listFacilitators, (row) => row)
      return new Page(await Promise.all(data.map(show)), pagination)
    },

    async getFacilitator({ path }) {
      const facilitator = await store.getFacilitator(path.facilitator_id)
      return facilitator && show(facilitator)
    },

    updateFacilitator: ({ path, body, auditEntry, ifMatch }) =>
      updateFacilitator(context, path.facilitator_id, body, { auditEntry, ifMatch }),

    deleteFacilitator: async ({ path, auditEntry, ifMatch }) =>
      deletedIf(await store.deleteFacilitator(path.facilitator_id, { auditEntry, ifMatch }), path.facilitator_id),

    getSupportedPayments: async ({ path, caller }) =>
      supportedPayments(context, await own(path.facilitator_id, caller)),

    verifyPayment: async ({ path, body, caller, nodes }) =>
      verifyPayment(context, nodes, await own(path.facilitator_id, caller), body),

    async settlePayment({ path, body, caller, auditEntry, authorize, nodes, onClose }) {
      const facilitator = await own(path.facilitator_id, caller)
      const mayUse = async () => own(path.facilitator_id, await authorize())
      // Before anything is accepted.
      const place = new WaitPlace({ caller, onClose }, shares.waits)
      return settlePayment(context, { auditEntry, nodes, authorize: mayUse, body, place }, facilitator)
    },

    async listPayments({ path, query, caller }) {
      const { row_id } = await own(path.facilitator_id, caller)
      return page(query, (slice) => store.listPayments(row_id, slice), showPayment)
    },

    async getPayment({ path, caller }) {
      const { row_id } = await own(path.facilitator_id, caller)
      const payment = await store.getPayment(row_id, path.payment_id)
      return payment && showPayment(payment)
    },
  } satisfies Partial<Handlers>
}
