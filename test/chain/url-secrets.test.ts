import { expect, test } from 'vitest'
import { urlScrubber } from '../../server/chain/open-endpoint.ts'

const secret = 'Zk3-9aQw_Xy71LmNoP'
const scrub = urlScrubber(`https://node.example/v3/${secret}?token=aB%2FcD%2BeFgHiJ`)
const said = (text: string) => scrub({ message: text }).message
const base64 = (text: string) => Buffer.from(text).toString('base64')

test.each([
  ['as it is', `no access for ${secret}.`],
  ['in upper case', `NO ACCESS FOR ${secret.toUpperCase()}`],
  ['in lower case', `/v3/${secret.toLowerCase()}`],
  ['cut', `no access for ${secret.slice(0, 12)}...`],
  ['without its beginning', `key ...${secret.slice(-10)}`],
  ['in base64', base64(secret)],
  ['in base64 behind one byte', base64(`:${secret}`)],
  ['in base64 behind two bytes', base64(`u:${secret}`)],
  ['in base64 as a part of the URL', base64(`https://node.example/v3/${secret}`)],
  ['in the URL’s alphabet of base64', Buffer.from(`/${secret}`).toString('base64url')],
  ['in hex', Buffer.from(secret).toString('hex')],
  ['decoded', 'token aB/cD+eFgHiJ is unknown'],
  ['encoded', 'token aB%2FcD%2BeFgHiJ is unknown'],
  ['twice', `${secret} and ${secret}`],
])('redacts the key in a node’s URL %s', (_, text) => {
  const shown = `${said(text)}`
  expect(shown).toContain('***')
  const hidden = [secret, base64(secret), Buffer.from(secret).toString('hex'), 'aB/cD+eFgHiJ']
  for (const one of hidden) {
    for (let at = 0; at + 8 <= one.length; at += 1) {
      expect(shown.toLowerCase()).not.toContain(one.slice(at, at + 8).toLowerCase())
    }
  }
})

test('changes nothing else, at any depth, and cuts texts that no error needs', () => {
  const data = `0x${'ab'.repeat(30_000)}`
  const error = { code: 3, message: 'execution reverted: İstanbul', data: { data, list: ['nonce too low', 5, null] } }
  expect(scrub({ ...error, message: 'execution reverted' })).toEqual({ ...error, message: 'execution reverted' })
  expect(said(`before ${secret} after`)).toBe('before *** after')
  expect(said('İ'.repeat(5))).toHaveLength(5)
  expect(`${said('x'.repeat(1_000_000))}`.length).toBeLessThan(30_000)
  expect(urlScrubber('http://127.0.0.1:8545')({ message: secret })).toEqual({ message: secret })
})
