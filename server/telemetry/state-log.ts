import type { Logger } from 'pino'
import { isBlocked } from '../core/funding.ts'
import type { Observer } from '../core/observer.ts'

/**
 * Log lines for operators: one per change of state, not one per failed call. Only the host of an RPC URL is logged, because its
 * path, query and user may contain secrets.
 */
export function createStateLog(
  logger: Logger,
): Pick<
  Observer,
  | 'endpointDown'
  | 'foreignTransaction'
  | 'endpointUp'
  | 'endpointAnsweredTooMuch'
  | 'keyServiceDown'
  | 'keyServiceUp'
  | 'nonceNoticed'
  | 'fundingChanged'
  | 'relayerChanged'
  | 'waits'
> {
  return {
    endpointDown: (endpoint) => logger.warn(endpoint, 'rpc endpoint down'),
    endpointAnsweredTooMuch: (endpoint) => logger.warn(endpoint, 'rpc endpoint answer too large'),
    endpointUp: (endpoint) => logger.info(endpoint, 'rpc endpoint up'),
    keyServiceDown: (key) => logger.warn(key, 'key service down'),
    keyServiceUp: (key) => logger.info(key, 'key service up'),
    foreignTransaction: (foreign) => logger.error(foreign, 'foreign transaction of a relayer'),
    nonceNoticed: (event, fields) => logger.warn(fields, event),
    waits: (wait) => logger.warn(wait, 'transaction waiting'),
    fundingChanged(funding) {
      if (isBlocked(funding.state)) logger.warn(funding, 'relayer is not refilled')
      else logger.info(funding, 'relayer is refilled again')
    },
    relayerChanged({ relayer_id, disabled_reason }) {
      if (disabled_reason !== null) logger.warn({ relayer_id, reason: disabled_reason }, 'relayer disabled')
      else logger.info({ relayer_id, reason: 'The cause no longer exists' }, 'relayer enabled')
    },
  }
}
