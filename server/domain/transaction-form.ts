import type { AccessList, Authorization } from '../../generated/openapi.ts'
import type { FeeMarketPrices, LegacyPrices, PriceKind, Prices } from './fees.ts'

/** EIP-2718: 0 legacy (EIP-155), 1 access list (EIP-2930), 2 fee market (EIP-1559), 4 set code (EIP-7702). */
export type TransactionType = 0 | 1 | 2 | 4

type Authorizations = readonly [Authorization, ...Authorization[]]

/** What distinguishes the types of transactions. Only a transaction of type 4 has authorizations, and each has prices of its kind. */
export type Form =
  | { type: 0; prices: LegacyPrices }
  | { type: 1; prices: LegacyPrices; access_list: AccessList }
  | { type: 2; prices: FeeMarketPrices; access_list: AccessList }
  | { type: 4; prices: FeeMarketPrices; access_list: AccessList; authorization_list: Authorizations }

interface Lists {
  access_list: AccessList | null
  authorization_list: Authorization[] | null
}

/** The type of a transaction with these lists, at prices of this kind; undefined: authorizations need prices of EIP-1559. */
export function typeOf({ access_list, authorization_list }: Lists, kind: PriceKind): TransactionType | undefined {
  if (kind === 'eip1559') return authorization_list ? 4 : 2
  if (authorization_list) return undefined
  return access_list ? 1 : 0
}

/** The kind of prices that a transaction of this type has, for as long as it exists. */
export const priceKindOf = (type: TransactionType): PriceKind => (type < 2 ? 'legacy' : 'eip1559')

/** The form of a transaction. Throws when lists or prices do not belong to its type: no list is ever left out. */
export function formOf(type: TransactionType, { access_list, authorization_list }: Lists, prices: Prices): Form {
  const [first, ...others] = authorization_list ?? []
  if (type === 4 && first && prices.kind === 'eip1559') {
    return { type, prices, access_list: access_list ?? [], authorization_list: [first, ...others] }
  }
  if (first === undefined) {
    if (type === 0 && prices.kind === 'legacy' && access_list === null) return { type, prices }
    if (type === 1 && prices.kind === 'legacy') return { type, prices, access_list: access_list ?? [] }
    if (type === 2 && prices.kind === 'eip1559') return { type, prices, access_list: access_list ?? [] }
  }
  throw new Error(`A transaction of type ${type} cannot have these lists with prices of the kind ${prices.kind}`)
}

/** The form of a plain transfer: the prices alone decide it. */
export const plainForm = (prices: Prices): Form =>
  prices.kind === 'legacy' ? { type: 0, prices } : { type: 2, prices, access_list: [] }
