import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { relayerCommand } from '../support/relayer-command.ts'
import { temporaryFolder } from '../support/service.ts'

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function makeRelease(): string {
  const folder = temporaryFolder()
  const files: Record<string, string> = {
    'client.tgz': 'the client',
    Dockerfile: 'FROM node:26',
    'generators/go.yaml': 'package: relayer',
  }
  mkdirSync(join(folder, 'generators'))
  const subject = Object.entries(files).map(([name, text]) => ({ name, digest: { sha256: sha256(text) } }))
  files['provenance.json'] = JSON.stringify({ subject })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const sums = Object.entries(files).map(([name, text]) => `${sha256(text)}  ${name}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  return folder
}

// It asks no service, and needs no API key.
const { run } = relayerCommand({ url: 'http://127.0.0.1:9', api_key: '' })
const verify = (folder: string) => run(['verify-release', folder])

test('finds a changed byte, a missing and an added file, and sums that do not fit the provenance', async () => {
  const whole = makeRelease()
  expect(await verify(whole)).toMatchObject({ code: 0, out: '4 files are as SHA256SUMS and provenance.json say\n' })

  const changed = makeRelease()
  const bytes = readFileSync(join(changed, 'client.tgz'))
  bytes[3] = (bytes[3] as number) ^ 1
  writeFileSync(join(changed, 'client.tgz'), bytes)
  expect(await verify(changed)).toMatchObject({ code: 9, err: expect.stringContaining('client.tgz was changed') })

  writeFileSync(join(whole, 'more.tgz'), '')
  expect(await verify(whole)).toMatchObject({ code: 9, err: expect.stringContaining('more.tgz is not part') })

  const more = makeRelease()
  writeFileSync(join(more, 'generators', 'rust.yaml'), '')
  expect(await verify(more)).toMatchObject({
    code: 9,
    err: expect.stringContaining('generators/rust.yaml is not part'),
  })

  const fitting = makeRelease()
  writeFileSync(join(fitting, 'client.tgz'), bytes)
  const sums = join(fitting, 'SHA256SUMS')
  writeFileSync(sums, readFileSync(sums, 'utf8').replace(sha256('the client'), sha256(bytes)))
  expect(await verify(fitting)).toMatchObject({
    code: 9,
    err: expect.stringContaining('provenance.json says something else of client.tgz'),
  })

  expect((await verify(temporaryFolder())).code).toBe(2)
})
