import { KeyServiceFault } from './key-service.ts'

/** By the codes of Node's errors. Each completes a sentence that begins with the name of the key service. */
const before_the_request: [codes: RegExp, told: string][] = [
  [/^ECONNREFUSED$/, 'refuses connections: nothing listens at its host and port'],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'has a host name that cannot be resolved'],
  [/^(?:EHOSTUNREACH|ENETUNREACH)$/, 'cannot be reached: there is no route to its host'],
  [/^(?:EPROTO|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/, 'does not speak https at this port'],
  [/^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/, 'has a certificate that is not trusted'],
]

/** The fault of a call that ended without an answer. Only after some errors is it certain that no request was sent. */
export function unanswered(name: string, error: unknown): KeyServiceFault {
  const { code = '', message } = error as NodeJS.ErrnoException
  // Node reads the PEM texts when it opens a connection.
  if (/^ERR_OSSL_|^ERR_CRYPTO_/.test(code)) {
    return new KeyServiceFault(
      'refused',
      `the client certificate, its key or the certificate of the authority for ${name} is not valid PEM (${code})`,
    )
  }
  const known = before_the_request.find(([codes]) => codes.test(code))
  if (known) return new KeyServiceFault('unavailable', `${name} ${known[1]} (${code})`, message, false)
  const told = code === 'ECONNRESET' ? `${name} closed the connection without an answer` : `no answer from ${name}`
  return new KeyServiceFault('unavailable', told, message)
}
