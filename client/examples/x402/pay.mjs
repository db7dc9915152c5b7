// Pays for an answer (x402). The key is that of an account of the development chain.
import { ExactEvmScheme } from '@x402/evm'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const { PAID_URL = 'http://127.0.0.1:4021/paid', NETWORK = 'eip155:31337' } = process.env
const { PAYER_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d' } = process.env

const client = new x402Client().register(NETWORK, new ExactEvmScheme(privateKeyToAccount(PAYER_KEY)))
// By default the package pays in tokens that it knows; this one is on a chain of our own.
client.setSpendControls({ allowedAssets: true })
const response = await wrapFetchWithPayment(fetch, client)(PAID_URL)
const settled = response.headers.get('PAYMENT-RESPONSE')
const { transaction } = settled === null ? {} : decodePaymentResponseHeader(settled)
console.log(response.status, JSON.stringify(await response.json()), transaction)
