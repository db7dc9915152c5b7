import { createServer } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { CreateSignerRequest, Failure } from '../../generated/openapi.ts'
import { startTestService } from '../support/service.ts'

const address = `0x${'12'.repeat(20)}`

async function httpPort(): Promise<number> {
  const server = createServer((_, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const remote = (url: string, more: object = {}): CreateSignerRequest => ({
  type: 'remote',
  config: { url, address, ...more },
})

test('says why a key service gave no answer', async () => {
  const lookup: LookupFunction = (_host, _options, answer) =>
    answer(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), [])
  const service = await startTestService({}, { lookup })
  const port = await httpPort()
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'
  const cases: [CreateSignerRequest, number, RegExp][] = [
    [remote('http://127.0.0.1:1'), 503, /the remote signer refuses connections: .*\(ECONNREFUSED\)/],
    [remote('http://no-such-host.invalid'), 503, /the remote signer has a host name that cannot be resolved/],
    [remote(`https://127.0.0.1:${port}`), 503, /the remote signer does not speak https at this port/],
    [remote('https://127.0.0.1:1', { client_identity: { certificate: pem, key: pem } }), 422, /is not valid PEM/],
    [{ type: 'vault', config: { url: 'http://127.0.0.1:1', path: 'a', token: 't' } }, 503, /Vault refuses connections/],
    [
      { type: 'vault', config: { url: `http://127.0.0.1:${port}`, path: 'secret/data/a', token: 't' } },
      422,
      /Vault answered 404; path must not start with secret\/data\//,
    ],
    [
      { type: 'aws_kms', config: { region: 'eu-central-1', key_id: 'a', endpoint: 'http://127.0.0.1:1' } },
      422,
      /finds no credentials/,
    ],
  ]
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION']) delete process.env[name]
  process.env.AWS_EC2_METADATA_DISABLED = 'true'
  for (const [body, status, reason] of cases) {
    const response = await service.raw('/api/v1/signers', { method: 'POST', body: JSON.stringify(body) })
    const { details } = (await response.json()) as Failure
    expect.soft(details?.[0]?.message).toMatch(reason)
    expect.soft(response.status, details?.[0]?.message).toBe(status)
  }
})

test.each(['https://bad%2fhost/?t=SECRET', 'http://[::1', 'https://user:SECRET@a.example.com'])(
  'refuses the URL %s of a key service with 400 and without its query',
  async (url) => {
    const service = await startTestService()
    for (const body of [remote(url), { type: 'vault', config: { url, path: 'a', token: 't' } }]) {
      const response = await service.raw('/api/v1/signers', { method: 'POST', body: JSON.stringify(body) })
      expect(response.status).toBe(400)
      expect(await response.text()).not.toContain('SECRET')
    }
    expect(service.logged.join('')).not.toContain('SECRET')
  },
)
