import { crc32c } from './crc32c.ts'
import { type JsonAnswer, member, textMember } from './json-request.ts'
import { KeyServiceFault } from './key-service.ts'
import { kindOfStatus } from './rest-service.ts'

export const google_name = 'Google Cloud KMS'

/** "Verifying end-to-end data integrity". An int64 in JSON is a string (proto3). */
export function checkCrc(answer: unknown, field: string, bytes: Uint8Array): void {
  if (`${member(answer, field)}` !== `${crc32c(bytes)}`) throw damaged(`has a wrong checksum (${field})`)
}

export const damaged = (what: string) => new KeyServiceFault('wrong', `the answer of ${google_name} ${what}`)

/** Errors have the form of google.rpc.Status. RESOURCE_EXHAUSTED: a quota; it has the status 429. */
export function googleFault({ status, body }: JsonAnswer): KeyServiceFault {
  const error = member(body, 'error')
  const word = textMember(error, 'status')
  const shown = word !== undefined && /^[A-Z_]{1,40}$/.test(word) ? `${status} ${word}` : `${status}`
  return new KeyServiceFault(kindOfStatus(status), `${google_name} answered ${shown}`, textMember(error, 'message'))
}
