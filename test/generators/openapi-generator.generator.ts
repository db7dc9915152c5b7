import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { contract, expectSignature, operationIds, run } from './generated-client.ts'

const version = '7.25.0'

/** The folder with the generated client, and its sources as one text. Maven brings the generator. */
async function generate(name: string, options: string[] = []) {
  const folder = temporaryFolder()
  const artifact = `org.openapitools:openapi-generator-cli:${version}`
  await run('mvn', ['-q', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`], folder)
  const jar = join(folder, `openapi-generator-cli-${version}.jar`)
  const output = join(folder, 'client')
  await run('java', ['-jar', jar, 'generate', '-i', contract, '-g', name, '-o', output, ...options], folder)
  const files = readdirSync(output, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(?:java|rs|ts)$/.test(file),
  )
  return { output, source: files.map((file) => readFileSync(join(output, file), 'utf8')).join('\n') }
}

const snake = (id: string) => id.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

test('java: has every operation, and compiles', async () => {
  const { output, source } = await generate('java', ['--library', 'native'])
  expect(operationIds.filter((id) => !source.includes(` ${id}(`))).toEqual([])
  await run('mvn', ['-q', 'compile'], output)
})

test('rust: has every operation, and compiles', async () => {
  const { output, source } = await generate('rust')
  expect(operationIds.filter((id) => !source.includes(`fn ${snake(id)}(`))).toEqual([])
  await run('cargo', ['check', '--quiet'], output)
})

const program = `
import * as relayer from './index.js'

const [basePath, accessToken] = process.argv.slice(2)
const configuration = new relayer.Configuration({ basePath, accessToken })
const signing = new relayer.SigningApi(configuration)
const signed = await signing.signMessage({ relayerId: 'demo', signMessageRequest: { message: 'Hello' } })
const { data } = await new relayer.RelayersApi(configuration).listRelayers()
if (data[0].id !== 'demo') throw new Error(JSON.stringify(data))
const notifications = new relayer.NotificationsApi(configuration)
const url = 'http://127.0.0.1:9'
await notifications.createNotification({ createNotificationRequest: { id: 'ops', type: 'webhook', url } })
const path = { notificationId: 'ops' }
const changed = await notifications.updateNotification({ ...path, updateNotificationRequest: { url: url + '/b' } })
if (changed.data.url !== url + '/b') throw new Error(JSON.stringify(changed))
await notifications.deleteNotification(path)
const failure = await notifications.getNotification(path).catch((error) => error.response)
if (failure.status !== 404 || (await failure.json()).code !== 'not_found') throw new Error('not refused')
console.log(signed.data.sig)
`

test('typescript-fetch: has every operation, compiles, signs, lists, updates, deletes and reads a failure', async () => {
  const { output, source } = await generate('typescript-fetch')
  expect(operationIds.filter((id) => !source.includes(`async ${id}(`))).toEqual([])
  const compiler = join(import.meta.dirname, '..', '..', 'node_modules', '.bin', 'tsc')
  const options = ['--strict', '--target', 'es2022', '--module', 'es2022', '--moduleResolution', 'bundler']
  const built = join(output, 'built')
  await run(compiler, ['index.ts', ...options, '--lib', 'es2022,dom', '--outDir', built], output)
  const rewritten = (file: string, text: string) =>
    text.replaceAll(/(from '\.[^']*?)(?:\/index)?(?:\.js)?'/g, (_, start: string) =>
      file === 'index.js' && /apis$|models$/.test(start) ? `${start}/index.js'` : `${start}.js'`,
    )
  for (const file of readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))) {
    const text = readFileSync(join(built, file), 'utf8')
    writeFileSync(join(built, file), rewritten(file, text).replaceAll("'../models.js'", "'../models/index.js'"))
  }
  writeFileSync(join(built, 'package.json'), '{"type":"module"}')
  writeFileSync(join(built, 'program.js'), program)
  const { url, api_key, client } = await startTestService()
  await expectSignature(client, await run('node', ['program.js', url, api_key], built))
})
