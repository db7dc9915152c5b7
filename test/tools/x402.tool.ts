import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type PaymentRig, paymentRig } from '../support/payment-rig.ts'
import { amount } from '../support/payments.ts'
import { startTestService } from '../support/service.ts'
import { folderWith, run } from './tool.ts'

const root = join(import.meta.dirname, '..', '..')
const examples = join('client', 'examples', 'x402')

/** The packages as their documentation has them; the facilitator's URL and key, the token and the payee are ours. */
const folder = folderWith({
  'settle.py': `
import json, os
from eth_account import Account
from x402 import x402ClientSync, x402ResourceServerSync, ResourceConfig
from x402.http import HTTPFacilitatorClientSync
from x402.mechanisms.evm.exact import ExactEvmScheme, ExactEvmServerScheme
from x402.schemas import AssetAmount

key = {"Authorization": "Bearer " + os.environ["FACILITATOR_KEY"]}
facilitator = HTTPFacilitatorClientSync({
    "url": os.environ["FACILITATOR_URL"],
    "create_headers": lambda: {"verify": key, "settle": key, "supported": key},
})
server = x402ResourceServerSync(facilitator)
server.register("eip155:*", ExactEvmServerScheme())
server.initialize()
price = AssetAmount(amount="${amount}", asset=os.environ["TOKEN"], extra={"name": "USD Coin", "version": "2"})
config = ResourceConfig(scheme="exact", network=os.environ["NETWORK"], pay_to=os.environ["PAYEE"], price=price)
requirements = server.build_payment_requirements(config)
client = x402ClientSync()
client.set_spend_controls({"allowed_assets": True})
client.register("eip155:*", ExactEvmScheme(Account.from_key(os.environ["PAYER_KEY"])))
payload = client.create_payment_payload(server.create_payment_required_response(requirements))
verified = server.verify_payment(payload, requirements[0])
first = server.settle_payment(payload, requirements[0])
again = server.settle_payment(payload, requirements[0])
print("RESULT" + json.dumps({
    "valid": verified.is_valid, "success": first.success, "hashes": [first.transaction, again.transaction],
    "spent": server.verify_payment(payload, requirements[0]).invalid_reason,
}))
`,
})
const python = (name: string) => join(folder, 'venv', 'bin', name)

beforeAll(async () => {
  cpSync(join(root, examples), folder, { recursive: true })
  await run(folder, 'npm', ['install', '--no-audit', '--no-fund'])
  await run(folder, 'python3', ['-m', 'venv', 'venv'])
  await run(folder, python('pip'), ['install', '--quiet', 'x402[evm,clients]==2.25.0', 'x402-conformance==1.6.0'])
})

const envOf = ({ rig, token, payee, token_of_key }: PaymentRig): Record<string, string> => ({
  ...{ FACILITATOR_URL: `${rig.url()}/api/v1/facilitators/shop`, FACILITATOR_KEY: token_of_key },
  ...{ TOKEN: token, PAYEE: payee, NETWORK: 'eip155:31337' },
})
const resultOf = (printed: string) => JSON.parse(/RESULT(.*)/.exec(printed)?.[1] ?? printed)

/** What a program has printed once it matches; the program ends with the test. */
function printedBy(program: string, parameters: string[], wanted: RegExp, options: { cwd: string; env: object }) {
  const child = spawn(program, parameters, { ...options, env: { ...process.env, ...options.env }, detached: true })
  onTestFinished(() => void process.kill(-(child.pid as number)))
  return new Promise<string>((resolve, reject) => {
    let text = ''
    const read = (part: Buffer) => {
      text += part
      const found = wanted.exec(text)?.[0]
      if (found !== undefined) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', () => reject(new Error(text)))
  })
}

const paidUrl = /http:\S+\/paid/
/** The URL of a server that asks for payment. */
const startServer = (env: Record<string, string>) =>
  printedBy(process.execPath, ['server.mjs'], paidUrl, { cwd: folder, env: { ...env, PORT: '0' } })

test('@x402/express is paid by @x402/fetch, for each request once', async () => {
  const its = await paymentRig()
  const env = envOf(its)
  const served = await startServer(env)
  for (const count of [1n, 2n]) {
    const payerKey = (await its.newPayer()).privateKey
    const printed = await run(folder, process.execPath, ['pay.mjs'], { ...env, PAID_URL: served, PAYER_KEY: payerKey })
    expect(printed).toMatch(/^200 {"answer":42} 0x[0-9a-f]{64}$/)
    expect(await its.received()).toBe(count * BigInt(amount))
  }
})

test('the commands of docs/settlement.md lead to a paid request in 120 s', async () => {
  const blocks = [...readFileSync(join(root, 'docs', 'settlement.md'), 'utf8').matchAll(/```sh\n(.*?)```/gs)].map(
    ([, block = '']) => block,
  )
  const [install = '', chain = '', create = '', serve = '', pay = ''] = blocks
  expect([blocks.length, install, chain]).toEqual([5, 'npm ci && npm start\n', 'npm run chain -- --token\n'])
  const { client, url, api_key } = await startTestService()
  const clone = folderWith({})
  mkdirSync(join(clone, 'data'))
  writeFileSync(join(clone, 'data', 'api-key'), api_key)
  cpSync(join(root, examples), join(clone, examples), { recursive: true })
  const began = performance.now()
  const env = {
    RELAYER_URL: url,
    RELAYER_API_KEY: api_key,
    FACILITATOR_URL: `${url}/api/v1/facilitators/shop`,
    PORT: '0',
  }
  const script = [join(root, 'test', 'development-chain.ts'), '--port', '0', '--token']
  const told = await printedBy(process.execPath, script, /is at (http:\S+):[\s\S]*The token USD Coin is at \S+\./, {
    ...{ cwd: clone, env },
  })
  await client.networks.update('evm:local', { rpc_urls: [/http:\S+\d/.exec(told)?.[0] ?? ''] })
  const bash = ['--norc', '-euo', 'pipefail', '-c']
  const ofThis = (block: string) => block.replaceAll('http://127.0.0.1:8080', url)
  expect(await run(clone, 'bash', [...bash, ofThis(create)], env)).not.toContain('"success":false')
  const served = await printedBy('bash', [...bash, ofThis(serve)], paidUrl, { cwd: clone, env })
  expect(await run(clone, 'bash', [...bash, pay], { ...env, PAID_URL: served })).toMatch(/^200 {"answer":42} 0x/)
  const tookS = (performance.now() - began) / 1_000
  process.stdout.write(`docs/settlement.md: ${tookS.toFixed(1)} s without npm ci\n`)
  expect(tookS).toBeLessThan(120)
})

test('the packages of Python verify and settle, and get one hash for one payload', async () => {
  const its = await paymentRig()
  const payerKey = (await its.newPayer()).privateKey
  const result = resultOf(await run(folder, python('python'), ['settle.py'], { ...envOf(its), PAYER_KEY: payerKey }))
  expect(result).toMatchObject({ valid: true, success: true, spent: 'invalid_exact_evm_nonce_already_used' })
  expect(new Set(result.hashes).size).toBe(1)
  expect(await its.received()).toBe(BigInt(amount))
})

test('x402-conformance finds no error, in the facilitator and in what it is asked for', async () => {
  const its = await paymentRig()
  const env = envOf(its)
  const own = {
    X402C_FACILITATOR_AUTHORIZATION: `Bearer ${its.token_of_key}`,
    X402C_FACILITATOR_AUTH_HOST: new URL(its.rig.url()).hostname,
  }
  const live = await run(folder, python('x402conf'), ['live', env.FACILITATOR_URL ?? '', '--fail-on-error'], own)
  process.stdout.write(`${live}\n`)
  const paid = await run(folder, python('x402conf'), ['resource', await startServer(env), '--fail-on-error'], own)
  process.stdout.write(`${paid}\n`)
})
