import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { toHex } from '../../domain/encoding/digest.ts'
import { serializeUnsigned } from '../../domain/encoding/envelope.ts'
import type { Prices } from '../../domain/fees.ts'
import { formOf } from '../../domain/transaction-form.ts'
import { readTransactionRequest, type TransactionRequest } from '../../domain/transaction-request.ts'
import { parseJson } from '../http/json.ts'
import { type Context, checked, type JsonRpcDependencies, type Method, partsOf } from './context.ts'
import { invalidParams } from './errors.ts'
import { readTransactionObject } from './transaction-object.ts'

const bytes = /^0x(?:[0-9a-fA-F]{2})*$/

/** The methods that sign and send nothing. Each is the operation of the same purpose, with its policies. */
export function signingMethods({
  operations,
  contract,
}: Pick<JsonRpcDependencies, 'operations' | 'contract'>): Record<string, Method> {
  const tell = (fault: string) => `the document to sign is not valid: ${fault}`

  const signTypedData: Method = async (call) => {
    const [account, given] = call.params
    const context = call.by(account)
    const document = typeof given === 'string' ? parseJson(given, undefined) : given
    const body = checked(contract, 'SignTypedDataRequest', document, tell)
    return context.as('signTypedData', 200, async (its) => {
      const { sig } = await operations.signTypedData({ ...partsOf(context), ...its, body })
      return sig
    })
  }

  return {
    async personal_sign(call) {
      const [message, account] = call.params
      if (typeof message !== 'string')
        throw invalidParams('params[0] must be the message: bytes as hex with 0x, or text')
      const context = call.by(account)
      const given = bytes.test(message) ? { message_hex: message } : { message }
      const body = checked(contract, 'SignMessageRequest', given, tell)
      return context.as('signMessage', 200, async (its) => {
        const { sig } = await operations.signMessage({ ...partsOf(context), ...its, body })
        return sig
      })
    },

    // The name in EIP-712, which web3.py uses.
    eth_signTypedData: signTypedData,
    eth_signTypedData_v4: signTypedData,

    async eth_signTransaction(call) {
      const given = readTransactionObject(call.params[0], call.relayer)
      const context = call.by(given.from)
      const request = checked(contract, 'SendTransactionRequest', given.body)
      const unsignedTransaction = serialize(request, given.nonce, context)
      return context.as('signTransaction', 200, async (its) => {
        const parts = { ...partsOf(context), ...its, body: { unsigned_transaction: unsignedTransaction } }
        return (await operations.signTransaction(parts)).signed_transaction
      })
    },
  }
}

/** The caller must give the nonce and the prices: the service does not know when a transaction is sent that it only signs. */
function serialize(body: SendTransactionRequest, nonce: number | undefined, { relayer }: Context): string {
  const { to, value, data, gas_limit, type, access_list, ...request } = readTransactionRequest(body)
  if (nonce === undefined) throw invalidParams('nonce must be given to sign a transaction without sending it')
  if (gas_limit === null) throw invalidParams('gas must be given to sign a transaction without sending it')
  const prices = pricesIn(request)
  const isLegacy = prices.kind === 'legacy'
  const form = formOf(type ?? (isLegacy ? (access_list ? 1 : 0) : 2), { access_list, authorization_list: null }, prices)
  const envelope = { chain_id: relayer.chain_id, nonce, to, value: BigInt(value), data, gas_limit, ...form }
  return toHex(serializeUnsigned(envelope).preimage())
}

function pricesIn({
  gas_price,
  max_fee_per_gas,
  max_priority_fee_per_gas,
}: Pick<TransactionRequest, 'gas_price' | 'max_fee_per_gas' | 'max_priority_fee_per_gas'>): Prices {
  if (gas_price !== null) return { kind: 'legacy', gas_price: BigInt(gas_price) }
  if (max_fee_per_gas === null || max_priority_fee_per_gas === null)
    throw invalidParams('gasPrice, or maxFeePerGas and maxPriorityFeePerGas, must be given to sign without sending')
  return {
    kind: 'eip1559',
    max_fee_per_gas: BigInt(max_fee_per_gas),
    max_priority_fee_per_gas: BigInt(max_priority_fee_per_gas),
  }
}
