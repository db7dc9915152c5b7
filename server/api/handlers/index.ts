import type { Handlers, JsonRpcOperation } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import { abis } from './abis.ts'
import { apiKeys } from './api-keys.ts'
import { audit } from './audit.ts'
import { facilitators } from './facilitators.ts'
import { networks } from './networks.ts'
import { notifications } from './notifications.ts'
import { activity, problems } from './overview.ts'
import { pools } from './pools.ts'
import { accounts, funding, relayers } from './relayers.ts'
import { health, service } from './service.ts'
import { signers } from './signers.ts'
import { signing } from './signing.ts'
import { sponsorships } from './sponsorships.ts'
import { transactions } from './transactions.ts'

/** All operations of the contract, except JSON-RPC, which uses them. A missing one does not compile. */
export const createOperations = (dependencies: ServicesContext): Omit<Handlers, JsonRpcOperation> => ({
  ...signing(dependencies),
  ...transactions(dependencies),
  ...notifications(dependencies),
  ...relayers(dependencies),
  ...accounts(dependencies),
  ...funding(dependencies),
  ...activity(dependencies),
  ...signers(dependencies),
  ...networks(dependencies),
  ...abis(dependencies),
  ...pools(dependencies),
  ...sponsorships(dependencies),
  ...facilitators(dependencies),
  ...apiKeys(dependencies),
  ...audit(dependencies),
  ...problems(dependencies),
  ...health(dependencies),
  ...service(dependencies),
})
