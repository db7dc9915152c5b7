import type { CreateFacilitatorRequest, Facilitator, UpdateFacilitatorRequest } from '../../generated/openapi.ts'
import { type FacilitatorRules, facilitatorBudget } from '../domain/payments.ts'
import { requireRevision } from '../domain/revision.ts'
import type { Conditions, PendingAuditEntry } from '../domain/rows.ts'
import { readAddress, readAmount } from '../domain/values.ts'
import type { FacilitatorRow } from '../store/queries/facilitators.ts'
import type { ServicesContext } from './context.ts'
import { checkDay, createWithToken } from './key-owners.ts'

type Store = Pick<ServicesContext, 'store'>

const usualWaitS = 20

/** Makes a facilitator and its API key, whose token is shown this once. Throws DomainError (400, 409). */
export async function createFacilitator(
  context: Pick<ServicesContext, 'store' | 'makeId' | 'now'>,
  { id = context.makeId(), pool_id, ...body }: CreateFacilitatorRequest,
  auditEntry: PendingAuditEntry,
): Promise<{ facilitator: Facilitator; token: string }> {
  const rules = readRules({ wait_seconds: usualWaitS, ...body }) as FacilitatorRules
  checkDay('max_fee_per_payment', rules)
  const { row, token } = await createWithToken(context, auditEntry, ['Facilitator', id], (createdAt, apiKey) =>
    context.store.createFacilitator({ ...rules, id, pool_id, created_at: createdAt }, apiKey, auditEntry),
  )
  return { facilitator: await showFacilitator(context, row), token }
}

/** Undefined: there is none. Throws DomainError (400, 412, 428). */
export async function updateFacilitator(
  { store }: Store,
  id: string,
  body: UpdateFacilitatorRequest,
  conditions: Conditions,
): Promise<Facilitator | undefined> {
  requireRevision(conditions.ifMatch, body, ['assets', 'pay_to'])
  const changes = readRules(body)
  const changeOf = (before: FacilitatorRules) => {
    checkDay('max_fee_per_payment', changes, before)
    return changes
  }
  const updated = await store.updateFacilitator(id, changeOf, conditions)
  return updated && showFacilitator({ store }, updated)
}

/** A facilitator with what was used of its budget. */
export async function showFacilitator({ store }: Store, facilitator: FacilitatorRow): Promise<Facilitator> {
  const { row_id: _, chain_id: __, pool_row_id: ___, ...row } = facilitator
  return { ...row, usage: await store.usage(facilitatorBudget(facilitator)) }
}

/** The given rules in normal form. Throws DomainError (400). */
function readRules({ assets, pay_to, max_fee_per_payment, max_fee_per_day, wait_seconds }: UpdateFacilitatorRequest) {
  return {
    ...(assets && {
      assets: assets.map(({ asset, max_amount_per_payment }, index) => ({
        asset: readAddress(asset, ['assets', index, 'asset']),
        max_amount_per_payment: readAmount(max_amount_per_payment, ['assets', index, 'max_amount_per_payment']),
      })),
    }),
    ...(pay_to !== undefined && { pay_to: readAddress(pay_to, ['pay_to']) }),
    ...(max_fee_per_payment !== undefined && {
      max_fee_per_payment: readAmount(max_fee_per_payment, ['max_fee_per_payment']),
    }),
    ...(max_fee_per_day !== undefined && { max_fee_per_day: readAmount(max_fee_per_day, ['max_fee_per_day']) }),
    ...(wait_seconds !== undefined && { wait_seconds }),
  } satisfies Partial<FacilitatorRules>
}
