import pino, { type Logger } from 'pino'
import { isBlocked } from '../domain/funding.ts'
import type { Observer } from '../domain/observer.ts'
import { escapedLine } from '../lib/printable.ts'
import type { Incidents } from './incidents.ts'

/** The longest time that a line stays in the buffer. SIGKILL loses at most these lines. */
const flushMs = 100
const bufferBytes = 8_192
/** When the reader is slow, lines beyond this many bytes are dropped. */
const maxWaitingBytes = 16 * 1024 * 1024

/** The log, as JSON lines on standard output. Writes are buffered and asynchronous, so that a slow reader delays no request. */
export const openLog = (level: pino.LevelWithSilent): pino.Logger =>
  pino(
    { level, hooks: { streamWrite: escapedLine } },
    pino.destination({
      sync: false,
      minLength: bufferBytes,
      periodicFlush: flushMs,
      maxLength: maxWaitingBytes,
    }),
  )

/**
 * Log lines for operators, and incidents: one per change of state, not one per failed call. Only the host of an RPC URL is logged, because
 * its path, query and user may contain secrets.
 */
export function stateLogOf(
  logger: Logger,
  incidents: Pick<Incidents, 'note'>,
): Pick<
  Observer,
  | 'endpointDown'
  | 'foreignTransaction'
  | 'endpointUp'
  | 'endpointAnsweredTooMuch'
  | 'endpointAnswerMalformed'
  | 'keyServiceDown'
  | 'keyServiceUp'
  | 'nonceNoticed'
  | 'fundingChanged'
  | 'relayerChanged'
  | 'waits'
> {
  return {
    endpointDown(endpoint) {
      logger.warn(endpoint, 'rpc endpoint down')
      incidents.note('warning', endpoint.host, `The node is not used: ${endpoint.reason}`)
    },
    endpointAnsweredTooMuch: (endpoint) => logger.warn(endpoint, 'rpc endpoint answer too large'),
    endpointAnswerMalformed: (endpoint) => logger.warn(endpoint, 'rpc endpoint answer malformed'),
    endpointUp(endpoint) {
      logger.info(endpoint, 'rpc endpoint up')
      incidents.note('over', endpoint.host, 'The node is used again')
    },
    keyServiceDown(key) {
      logger.warn(key, 'key service down')
      incidents.note('error', `${key.type} ${key.address}`, `The key service does not sign: ${key.reason}`)
    },
    keyServiceUp(key) {
      logger.info(key, 'key service up')
      incidents.note('over', `${key.type} ${key.address}`, 'The key service signs again')
    },
    foreignTransaction(foreign) {
      logger.error(foreign, 'foreign transaction of a relayer')
      incidents.note('error', foreign.relayer_id, `Another program sent a transaction with nonce ${foreign.nonce}`)
    },
    nonceNoticed(event, fields) {
      logger.warn(fields, event)
      incidents.note('warning', fields.relayer_id, `Nonces: ${event}`)
    },
    waits: (wait) => logger.warn(wait, 'transaction waiting'),
    fundingChanged(funding) {
      const { relayer_id, state, reason } = funding
      if (isBlocked(state)) {
        logger.warn(funding, 'relayer is not refilled')
        incidents.note('error', relayer_id, `It is not refilled: ${reason ?? state}`)
      } else {
        logger.info(funding, 'relayer is refilled again')
        incidents.note('over', relayer_id, 'It is refilled again')
      }
    },
    relayerChanged({ relayer_id, disabled_reason }) {
      if (disabled_reason !== null) {
        logger.warn({ relayer_id, reason: disabled_reason }, 'relayer disabled')
        incidents.note('error', relayer_id, `It was disabled: ${disabled_reason}`)
      } else {
        logger.info({ relayer_id, reason: 'The cause no longer exists' }, 'relayer enabled')
        incidents.note('over', relayer_id, 'It was enabled: the cause no longer exists')
      }
    },
  }
}
