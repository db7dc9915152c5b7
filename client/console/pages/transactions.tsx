import { Heading } from '../parts/heading.tsx'
import { Transactions as List } from '../parts/transactions.tsx'

/** The transactions of all relayers that the API key may see. */
export const Transactions = (filters: { group?: string | undefined; find?: string | undefined }) => (
  <>
    <Heading name="Transactions" />
    <List place={{ all: true }} here="/transactions" {...filters} />
  </>
)
