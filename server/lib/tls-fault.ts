/** By the codes of Node's errors. Each completes a sentence that begins with the name of a server. */
const faults: [codes: RegExp, told: string][] = [
  [
    /^(?:EPROTO|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/,
    'does not speak https at this port: does its URL begin with http?',
  ],
  [/^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/, 'has a certificate that is not trusted'],
]

/** What is wrong with a connection by TLS, where the words of OpenSSL name no cause; undefined for any other error. */
export const tlsFault = (code: string | undefined): string | undefined =>
  faults.find(([codes]) => codes.test(code ?? ''))?.[1]
