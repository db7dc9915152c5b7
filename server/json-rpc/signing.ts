import { Transaction } from 'ethers/transaction'
import type { SignMessageRequest, TypedData } from '../../generated/openapi.ts'
import { parseJson } from '../http/json.ts'
import { schemaCheck } from '../http/schema-check.ts'
import type { Context, JsonRpcDependencies, Method } from './context.ts'
import { invalidParams } from './errors.ts'
import { readTransactionObject, type TransactionObject } from './transaction-object.ts'

const bytes = /^0x(?:[0-9a-fA-F]{2})*$/

/** The methods that sign and send nothing. Each is the operation of the same purpose, with its policies. */
export function signingMethods({
  operations,
  contract,
}: Pick<JsonRpcDependencies, 'operations' | 'contract'>): Record<string, Method> {
  const check = (schema: 'SignMessageRequest' | 'TypedData', body: unknown) => {
    const fault = schemaCheck(contract, schema)(body)
    if (fault !== undefined) throw invalidParams(`the document to sign is not valid: ${fault}`)
  }

  const signTypedData: Method = async (call) => {
    const [account, given] = call.params
    const context = call.by(account)
    const document = typeof given === 'string' ? parseJson(given, undefined) : given
    check('TypedData', document)
    const body = document as TypedData
    return context.as('signTypedDataFull', 200, async (auditEntry) => {
      const { data } = await operations.signTypedDataFull({ ...partsOf(context), auditEntry, body })
      return data.sig
    })
  }

  return {
    async personal_sign(call) {
      const [message, account] = call.params
      if (typeof message !== 'string')
        throw invalidParams('params[0] must be the message: bytes as hex with 0x, or text')
      const context = call.by(account)
      const body: SignMessageRequest = bytes.test(message) ? { message_hex: message } : { message }
      check('SignMessageRequest', body)
      return context.as('signMessage', 200, async (auditEntry) => {
        const { data } = await operations.signMessage({ ...partsOf(context), auditEntry, body })
        return data.sig
      })
    },

    // The name in EIP-712, which web3.py uses.
    eth_signTypedData: signTypedData,
    eth_signTypedData_v4: signTypedData,

    async eth_signTransaction(call) {
      const wanted = readTransactionObject(call.params[0], call.relayer)
      const context = call.by(wanted.from)
      const unsigned_transaction = serialize(wanted, context)
      return context.as('signTransaction', 200, async (auditEntry) => {
        const parts = { ...partsOf(context), auditEntry, body: { unsigned_transaction } }
        return (await operations.signTransaction(parts)).data.signed_transaction
      })
    },
  }
}

/** The members of a request of any operation. */
export const partsOf = ({ relayer, request }: Context) => ({
  path: { relayer_id: relayer.id },
  query: undefined as never,
  header: undefined as never,
  caller: request.caller,
  beginAudit: request.beginAudit,
  authorize: request.authorize,
  onClose: request.onClose,
  hasLeft: request.hasLeft,
})

/** The caller must give the nonce and the prices: the service does not know when a transaction is sent that it only signs. */
function serialize({ body, nonce }: TransactionObject, { relayer }: Context): string {
  const { to, value, data, type, access_list, gas_limit, gas_price, max_fee_per_gas, max_priority_fee_per_gas } = body
  if (nonce === undefined) throw invalidParams('nonce must be given to sign a transaction without sending it')
  if (gas_limit == null) throw invalidParams('gas must be given to sign a transaction without sending it')
  const isDynamic = max_fee_per_gas != null && max_priority_fee_per_gas != null
  if (gas_price == null && !isDynamic)
    throw invalidParams('gasPrice, or maxFeePerGas and maxPriorityFeePerGas, must be given to sign without sending')
  const prices =
    gas_price == null && isDynamic
      ? { maxFeePerGas: max_fee_per_gas, maxPriorityFeePerGas: max_priority_fee_per_gas }
      : { gasPrice: gas_price ?? null }
  return Transaction.from({
    type: type ?? (gas_price == null ? 2 : access_list == null ? 0 : 1),
    chainId: relayer.chain_id,
    // An address in lower case has no checksum, so it cannot fail that check.
    to: to?.toLowerCase() ?? null,
    value: value ?? 0,
    data: data ?? '0x',
    nonce,
    gasLimit: gas_limit,
    accessList: access_list?.map(({ address, storage_keys }) => ({ address, storageKeys: storage_keys })) ?? null,
    ...prices,
  }).unsignedSerialized
}
