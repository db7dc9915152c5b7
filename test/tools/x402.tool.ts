import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { amount, type PaymentRig, paymentRig } from '../support/payments.ts'
import { folderWith, run } from './tool.ts'

/** The packages as their documentation has them; the facilitator's URL and key, the token and the payee are ours. */
const folder = folderWith({
  'package.json': JSON.stringify({ private: true, type: 'module' }),
  'server.js': `
import express from "express"
import { paymentMiddleware, x402ResourceServer } from "@x402/express"
import { ExactEvmScheme } from "@x402/evm/exact/server"
import { HTTPFacilitatorClient } from "@x402/core/server"

const { FACILITATOR_URL: url, FACILITATOR_KEY: key, TOKEN: asset, PAYEE: payTo, NETWORK: network } = process.env
const headers = { Authorization: "Bearer " + key }
const createAuthHeaders = async () => ({ verify: headers, settle: headers, supported: headers })
const facilitatorClient = new HTTPFacilitatorClient({ url, createAuthHeaders })
const resourceServer = new x402ResourceServer(facilitatorClient).register(network, new ExactEvmScheme())
const price = { amount: "${amount}", asset, extra: { name: "USD Coin", version: "2" } }
const accepts = { scheme: "exact", price, network, payTo }
const app = express()
app.use(paymentMiddleware({ "GET /paid": { accepts, description: "An answer" } }, resourceServer))
app.get("/paid", (request, response) => response.json({ answer: 42 }))
const server = app.listen(0, "127.0.0.1", () => console.log("PORT" + server.address().port))
`,
  'pay.js': `
import { wrapFetchWithPayment, x402Client, decodePaymentResponseHeader } from "@x402/fetch"
import { ExactEvmScheme } from "@x402/evm"
import { privateKeyToAccount } from "viem/accounts"

const client = new x402Client().register(process.env.NETWORK, new ExactEvmScheme(privateKeyToAccount(process.env.PAYER_KEY)))
client.setSpendControls({ allowedAssets: true })
const response = await wrapFetchWithPayment(fetch, client)(process.env.PAID_URL)
const settled = response.headers.get("PAYMENT-RESPONSE")
console.log("RESULT" + JSON.stringify({
  status: response.status,
  body: await response.json(),
  settled: settled && decodePaymentResponseHeader(settled),
}))
`,
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
  const packages = ['@x402/core@2.27.0', '@x402/express@2.27.0', '@x402/fetch@2.27.0', '@x402/evm@2.27.0']
  await run(folder, 'npm', ['install', '--no-audit', '--no-fund', ...packages, 'express@5', 'viem@2'])
  await run(folder, 'python3', ['-m', 'venv', 'venv'])
  await run(folder, python('pip'), ['install', '--quiet', 'x402[evm,clients]==2.25.0', 'x402-conformance==1.6.0'])
})

const envOf = ({ rig, token, payee, token_of_key }: PaymentRig): Record<string, string> => ({
  ...{ FACILITATOR_URL: `${rig.url()}/api/v1/facilitators/shop`, FACILITATOR_KEY: token_of_key },
  ...{ TOKEN: token, PAYEE: payee, NETWORK: 'eip155:31337' },
})
const resultOf = (printed: string) => JSON.parse(/RESULT(.*)/.exec(printed)?.[1] ?? printed)

/** The URL of a server that asks for payment. */
async function startServer(env: Record<string, string>): Promise<string> {
  const server = spawn(process.execPath, ['server.js'], { cwd: folder, env: { ...process.env, ...env } })
  onTestFinished(() => void server.kill())
  const port = await new Promise<string>((resolve, reject) => {
    let text = ''
    const read = (part: Buffer) => {
      text += part
      const found = /PORT(\d+)/.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    }
    server.stdout.on('data', read)
    server.stderr.on('data', read)
    server.once('exit', () => reject(new Error(text)))
  })
  return `http://127.0.0.1:${port}/paid`
}

test('@x402/express is paid by @x402/fetch, for each request once', async () => {
  const its = await paymentRig()
  const env = envOf(its)
  const PaidUrl = await startServer(env)
  for (const count of [1n, 2n]) {
    const PayerKey = (await its.newPayer()).privateKey
    const { status, body, settled } = resultOf(
      await run(folder, process.execPath, ['pay.js'], { ...env, PAID_URL: PaidUrl, PAYER_KEY: PayerKey }),
    )
    expect({ status, body, success: settled?.success }).toEqual({ status: 200, body: { answer: 42 }, success: true })
    expect(settled.transaction).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await its.received()).toBe(count * BigInt(amount))
  }
})

test('the packages of Python verify and settle, and get one hash for one payload', async () => {
  const its = await paymentRig()
  const PayerKey = (await its.newPayer()).privateKey
  const result = resultOf(await run(folder, python('python'), ['settle.py'], { ...envOf(its), PAYER_KEY: PayerKey }))
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
