import { CommanderError } from 'commander'
import { isTimeout } from '../call.ts'
import { RelayerError } from '../error.ts'

/** Exit codes, for scripts. */
export const exitCodes = {
  done: 0,
  unexpected: 1,
  usage: 2,
  refused: 3,
  not_found: 4,
  unauthorized: 5,
  unavailable: 6,
  not_confirmed: 7,
  timeout: 8,
  problems: 9,
} as const

type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export const exitCodesHelp = `
Exit codes:
  0  done
  1  unexpected error
  2  wrong usage: an unknown or missing argument, RELAYER_API_KEY not set
  3  the service refuses the request (400, 403 by a policy, 409, 413, 422)
  4  not found (404)
  5  the API key is not accepted, or lacks a scope (401, 403)
  6  the service is unavailable or not reached, or a limit is reached (429, 5xx): try again
  7  the transaction ended as failed, canceled or expired; the test delivery failed
  8  the transaction was not finished within --timeout
  9  doctor found problems, verify-release a file that was changed, or reconcile external transactions that the file lacks`

/** An error that the user can correct; shown without a stack trace. */
export class CommandError extends Error {
  readonly exit_code: ExitCode

  constructor(message: string, exitCode: ExitCode = exitCodes.usage) {
    super(message)
    this.exit_code = exitCode
  }
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exit_code
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  if (error instanceof RangeError) return exitCodes.usage
  if (error instanceof RelayerError) return codeOfStatus(error)
  return isUnreached(error) || isTimeout(error) ? exitCodes.unavailable : exitCodes.unexpected
}

function codeOfStatus({ status, code }: RelayerError): ExitCode {
  if (status === 401 || code === 'forbidden') return exitCodes.unauthorized
  if (status === 404) return exitCodes.not_found
  return status === 408 || status === 429 || status >= 500 ? exitCodes.unavailable : exitCodes.refused
}

/** fetch throws a TypeError with the connection's error as its cause. */
export const isUnreached = (error: unknown): error is TypeError =>
  error instanceof TypeError && error.cause !== undefined

const reasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused, so nothing listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'no host has this name',
  EAI_AGAIN: 'the name cannot be looked up now',
  ETIMEDOUT: 'no answer came in time',
  UND_ERR_CONNECT_TIMEOUT: 'no answer came in time',
  UND_ERR_SOCKET: 'the connection was closed; perhaps the URL must begin with https',
  ERR_SSL_WRONG_VERSION_NUMBER: 'http is spoken there, so the URL must begin with http and not https',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'http is spoken there, so the URL must begin with http and not https',
}
/** Of OpenSSL's check of a certificate. */
const untrusted = /CERT|ISSUER|SIGNATURE/

/** Why the service was not reached, in words. */
export function unreachedReason({ message, cause }: TypeError): string {
  const { code = '', message: told } = cause as NodeJS.ErrnoException
  if (untrusted.test(code))
    return `its certificate is not accepted (${told}); NODE_EXTRA_CA_CERTS names a file with its authority`
  return reasons[code] ?? (told || message)
}
