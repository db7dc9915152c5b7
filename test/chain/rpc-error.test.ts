import { AbiCoder } from 'ethers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { classifyRpcError, type RpcErrorKind, revertReason } from '../../server/chain/rpc-error.ts'
import { printable } from '../../server/lib/printable.ts'

// What nodes and providers say: from their sources, their issues, and (anvil 1.7.1) from asking one. After "execution
// reverted:" a contract speaks, here with the words of a node.
const texts: Record<Exclude<RpcErrorKind, 'unknown'>, string> = {
  already_known: `
    skale       Same transaction already exists in the pending transaction queue.
    conflux     "tx already exist"
    rsk         transaction with same hash already exists
    substrate   submit transaction to pool failed: Pool(AlreadyImported(Any { .. }))
    geth        already known | known transaction: 0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960
    erigon      ALREADY_EXISTS: already known | INTERNAL_ERROR: existing tx with same hash
    nethermind  AlreadyKnown
    besu        Known transaction
    anvil       transaction already imported
    hardhat     Known transaction: 0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960
    mantle      failed to forward tx to sequencer, please try again. Error message: 'already known'
    parity      Transaction with the same hash was already imported.
    moonbeam    submit transaction to pool failed: Pool(AlreadyImported)
    cosmos      failed to broadcast transaction: : tx already in mempool`,
  nonce_too_low: `
    skale       Invalid transaction nonce. | Transaction is already in the blockchain.
    conflux     Transaction 0x4a2cfa73267139d965ab86d41f2af16db09e62ff92a5abffd7f8e743f36f327c is discarded due to a too stale nonce
    rsk         transaction nonce too low
    kaia        nonce too low
    hedera      [Request ID: 2e952947-ffad-408b-aed9-35f3ed152001] Nonce too low. Provided nonce: 15, current nonce: 16
    cosmos      invalid nonce; got 286, expected 288: tx nonce is lower than account nonce | invalid nonce; got 9, expected 10: invalid sequence
    cosmos      account sequence mismatch, expected 945, got 944: incorrect account sequence
    cosmos      invalid nonce; got 2, should be expected 10 or higher with pending txs in the same block
    substrate   submit transaction to pool failed: Pool(InvalidTransaction(InvalidTransaction::Stale))
    geth        nonce too low | nonce too low: next nonce 5, tx nonce 3
    erigon      INTERNAL_ERROR: nonce too low
    nethermind  OldNonce | OldNonce, Current nonce: 55, nonce of rejected tx: 54
    besu        Nonce too low
    hardhat     Transaction nonce too low. Expected nonce to be at least 5 but got 4. | nonce 5 too low, expected 6
    nitro       nonce too low: address 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C, tx: 8089 state: 8090
    arbitrum    invalid transaction nonce
    parity      Transaction nonce is too low. Try incrementing the nonce.`,
  nonce_too_high: `
    conflux     Transaction 0xc875a03e1ce01268931a1a428d8f8313714ab5eb9c2b626bd327af7e5c3e8c03 is discarded due to in too distant future
    rsk         transaction nonce too high
    hedera      Nonce too high. Provided nonce: 15, current nonce: 10
    cosmos      invalid nonce; got 7, expected 5: invalid sequence | tx nonce is higher than account nonce
    cosmos      account sequence mismatch, expected 17, got 118: incorrect account sequence
    substrate   submit transaction to pool failed: Pool(InvalidTransaction(InvalidTransaction::Future))
    geth        nonce too high: tx nonce 9, gapped nonce 5 | gapped-nonce tx from delegated accounts
    geth        future transaction tries to replace pending
    nethermind  NonceGap, Future nonce. Expected nonce: 10 | nonce too far in future | NotCurrentNonceForDelegation
    besu        Transaction nonce is too distant from current sender nonce | Nonce too high
    besu        An invalid transaction with a lower nonce exists
    hardhat     Nonce too high. Expected nonce to be 0 but got 1. Note that transactions can't be queued when automining.`,
  replacement_underpriced: `
    skale       Pending transaction with same nonce already exists (skale: we ignore gas price).
    conflux     Tx with same nonce already inserted. To replace it, you need to specify a gas price > 5
    rsk         gas price not enough to bump transaction
    kaia        there is another tx which has the same nonce in the tx pool
    substrate   submit transaction to pool failed: Pool(TooLowPriority { old: 1, new: 1 })
    geth        replacement transaction underpriced
    erigon      INTERNAL_ERROR: could not replace existing tx
    nethermind  ReplacementNotAllowed | OwnNonceAlreadyUsed
    besu        Replacement transaction underpriced
    reth        [0x7f65]: insufficient gas price to replace existing transaction
    hardhat     Replacement transaction underpriced. A gasPrice/maxFeePerGas of at least 22 is necessary to replace
    parity      Transaction gas price 100wei is too low. There is another transaction with same nonce in the queue`,
  underpriced: `
    skale       Transaction gas price lower than current eth_gasPrice.
    conflux     transaction gas price 1 less than the minimum value 20000000000
    rsk         transaction's gas price lower than block's minimum
    kaia        invalid unit price | invalid gas fee cap. It must be set to value greater than or equal to baseFee
    hedera      Gas price '218' is below configured minimum gas price '1140000000000'
    cosmos      provided fee < minimum global fee (1 < 2). Please increase the gas price.: insufficient fee
    cosmos      the tx gasfeecap is lower than the tx baseFee: 1 (gasfeecap), 7 (basefee): insufficient fee
    cosmos      insufficient fees; got: 1aevmos required: 2aevmos: insufficient fee
    frontier    gas price less than block base fee
    geth        transaction underpriced: tip needed 1000000000, tip permitted 1
    geth        transaction gas price below minimum: gas tip cap 1500000000, minimum needed 25000000000
    geth        err: max fee per gas less than block base fee: address 0xD3b2, maxFeePerGas: 0 (supplied gas 50000000)
    erigon      INTERNAL_ERROR: underpriced | INTERNAL_ERROR: fee too low
    nethermind  FeeTooLow, EffectivePriorityFeePerGas too low 10 < 20, BaseFee: 30 | FeeTooLowToCompete | miner premium is negative
    besu        Gas price below configured minimum gas price | Gas price below current base fee
    reth        transaction priority fee below minimum required priority fee 20000000000
    hardhat     Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 670197580
    celo        error_forwarding_sequencer: gas fee cap is below the minimum base fee
    arbitrum    gas price too low`,
  insufficient_funds: `
    skale       Account balance is too low (balance < value + gas * gas price).
    conflux     Transaction 0xf347 is discarded due to out of balance, needs 9000000000420000000000000 but account balance is 90095849479
    rsk         insufficient funds | the sender account doesn't exist
    rsk         insufficient funds to pay for pending and new transactions
    kaia        insufficient funds of the sender for value
    hedera      Insufficient funds for transfer
    cosmos      failed to check sender balance: sender balance < tx cost (0 < 1000020000000000000): insufficient funds
    substrate   submit transaction to pool failed: Pool(InvalidTransaction(InvalidTransaction::Payment))
    substrate   1010: Invalid Transaction: Inability to pay some fees , e.g. account balance too low
    geth        insufficient funds for gas * price + value: balance 0, tx cost 42000000000000, overshot 42000000000000
    geth        gas required exceeds allowance (0) | failed with 16777216 gas: insufficient funds for gas * price + value: address 0xb68D have 0 want 1
    erigon      INTERNAL_ERROR: insufficient funds
    nethermind  InsufficientFunds, Account balance: 3020000000000000000, cumulative cost: 5809177184380485770
    besu        Upfront cost exceeds account balance | transaction up-front cost 0x10 exceeds transaction sender account balance 0x0
    reth        transaction overdraws from account, value or fee: 2, balance: 1 | EVM error: OutOfFunds
    anvil       Insufficient funds for gas * price + value
    hardhat     Sender doesn't have enough funds to send tx. The max upfront cost is: 3 and the sender's balance is: 2.
    ganache     VM Exception while processing transaction: sender doesn't have enough funds to send tx.
    arbitrum    not enough funds for gas`,
  gas_limit_too_low: `
    skale       Transaction gas amount is less than the intrinsic gas amount for this transaction type.
    rsk         transaction's basic cost is above the gas limit
    conflux     NotEnoughBaseGas { required: 21000, got: 20000 }
    geth        intrinsic gas too low: gas 20000, minimum needed 21000
    geth        insufficient gas for floor data gas cost: gas 19435, minimum needed 24000
    erigon      INTERNAL_ERROR: IntrinsicGas
    besu        Intrinsic gas exceeds gas limit
    anvil       intrinsic gas too high -- CallGasCostMoreThanGasLimit | intrinsic gas too high -- GasFloorMoreThanGasLimit
    hardhat     Transaction requires at least 21000 gas but got 1 | gas floor (24000) exceeds the gas limit (21000)`,
  gas_limit_too_high: `
    skale       Block gas limit reached.
    rsk         transaction's gas limit exceeds block gas limit
    conflux     transaction gas 20000000 exceeds the maximum value 15000000
    substrate   submit transaction to pool failed: Pool(InvalidTransaction(InvalidTransaction::ExhaustsResources))
    geth        exceeds block gas limit | transaction gas limit too high (cap: 16777216, tx: 21000000)
    geth        gas required exceeds allowance (30000000)
    erigon      INTERNAL_ERROR: gas limit is too high
    nethermind  GasLimitExceeded, Gas limit: 100, gas limit of rejected tx: 150 | gas limit reached
    nethermind  TxGasLimitCapExceeded: Gas limit 16777217 exceeded cap of 16777216.
    reth        exceeds max transaction gas limit | intrinsic gas too high
    anvil       intrinsic gas too high -- tx.gas_limit > env.block.gas_limit | Out of gas: gas required exceeds allowance: 30000000
    hardhat     Transaction gas limit is 30000000 and exceeds transaction gas cap of 16777216
    base        exceeds maximum per-transaction gas limit: transaction gas 37801375, limit 25000000`,
  fee_too_high: `
    geth        tx fee (45.00 ether) exceeds the configured cap (1.00 ether)
    geth        max priority fee per gas higher than max fee per gas: address 0xb68D, maxPriorityFeePerGas: 2
    nethermind  InvalidMaxPriorityFeePerGas: Cannot be higher than maxFeePerGas.
    besu        Transaction fee cap exceeded | Max priority fee per gas exceeds max fee per gas`,
  reverted: `
    geth        execution reverted: nonce too low | gas required exceeds allowance (10000000) or always failing transaction
    geth        invalid opcode: opcode 0xfe not defined | max code size exceeded
    nethermind  revert | VM execution error.
    besu        Execution reverted: already known
    anvil       EVM error InvalidFEOpcode | EVM error OutOfGas
    hardhat     VM Exception while processing transaction: reverted with an unrecognized custom error (return data: 0x12)`,
  pool_full: `
    skale       Transaction queue is full.
    conflux     Failed imported to deferred pool: Transaction Pool is full
    cosmos      mempool is full: number of txs 5000 (max: 5000)
    substrate   submit transaction to pool failed: Pool(ImmediatelyDropped)
    geth        txpool is full | account limit exceeded: pooled 16 txs | address already reserved
    geth        in-flight transaction limit reached for delegated accounts
    erigon      INTERNAL_ERROR: pending sub-pool is full
    parity      There are too many transactions in the queue. Your transaction was dropped due to limit.
    arbitrum    sequencer pending tx pool full, please try again`,
  rejected: `
    geth        invalid sender: invalid chain id for signer: have 8141 want 1 | nonce has max value
    geth        transaction type not supported: tx type 3 not supported by this pool | authority nonce too low
    geth        oversized data: transaction size 131083, limit 131072 | rlp: expected input list for types.LegacyTx
    geth        only replay-protected (EIP-155) transactions allowed over RPC | gas uint64 overflow
    erigon      invalid chain id, expected: 1 got: 5
    nethermind  NonceTooHigh: Nonce exceeds max nonce | FailedToResolveSender | Invalid, transaction Hash is null
    besu        Wrong chainId | Invalid signature | Sender account not authorized to send transactions
    reth        sender is not an EOA
    anvil       Failed to decode transaction
    hardhat     Trying to send an incompatible EIP-155 transaction, signed for another chain.`,
  rate_limited: `
    infura      daily request count exceeded, request rate limited
    alchemy     Your app has exceeded its compute units per second capacity.
    quicknode   50/second request limit reached - reduce calls per second | credits limited to 6000/sec
    base        429 Too Many Requests: {"jsonrpc":"2.0","error":{"code":-32016,"message":"over rate limit"},"id":1}`,
  unavailable: `
    besu        Initial sync is still in progress | Unauthorized
    reth        execution aborted (timeout = 10s)
    op-reth     error sending request for url (https://mainnet-sequencer.base.org/): error trying to connect
    nitro       sequencer temporarily not available | dial tcp 10.0.0.1:8547: connect: connection refused
    base        no backend is currently healthy to serve traffic
    drpc        Request timeout on the free tier, please upgrade your tier to the paid one`,
  not_found: `
    geth        header not found | missing trie node 5c0ee75d9dd668839db2895c93257f6a3a77282740c045d286ff0d1f (path )
    geth        transaction indexing is in progress
    besu        Unknown block
    erigon      block 0x4fba164 not found
    hedera      Requested block not found
    anvil       BlockOutOfRangeError: block height is 0 but requested was 16
    avalanche   cannot query unfinalized data
    zksync      Block with such an ID doesn't exist yet
    nethermind  68719476735 could not be found
    nethermind  No state available for block 0x3f9e020290502d1d41f4b5519e7d456f0935dea980ec310935206cac8239117e
    evmos       tx not found: 7F657507AEE0511E36D2D1972A6B22E917CC89F92B6C12C4DBD57EAABB236960`,
  method_not_found: `
    geth        the method eth_getAccount does not exist/is not available
    besu        The method eth_sendTransaction is not supported. | Method not enabled
    nitro       publishing transactions not supported by this endpoint`,
}

for (const [kind, lines] of Object.entries(texts))
  describe(kind, () => {
    for (const line of lines.trim().split('\n')) {
      const [node = '', messages = ''] = line.trim().split(/ {2,}/)
      test.each(messages.split(' | '))(`${node}: %s`, (message) => {
        expect(classifyRpcError({ code: -32000, message })).toBe(kind)
        expect(classifyRpcError({ code: -32603, message: 'Internal error', data: { code: 1, message } })).toBe(kind)
      })
    }
  })

test.each<[string, RpcErrorKind, object]>([
  ['anvil, by code', 'method_not_found', { code: -32601, message: 'Not found' }],
  ['alchemy, by code', 'rate_limited', { code: 429, message: '' }],
  ['drpc, by code', 'rate_limited', { code: -32005, message: 'eth_getLogs capacity exhausted, retry shortly' }],
  ['besu: its -32005', 'gas_limit_too_high', { code: -32005, message: 'gas limit exceeds block gas limit' }],
  ['infura: a query too large', 'unknown', { code: -32005, message: 'query returned more than 10000 results' }],
  ['besu: its -32001', 'nonce_too_low', { code: -32001, message: 'Nonce too low' }],
  ['zksync: its 3', 'already_known', { code: 3, message: 'known transaction. transaction is already in the system' }],
  ['nethermind 1.2', 'reverted', { code: -32015, message: 'VM execution error.', data: 'Reverted 0x7a933234' }],
  ['besu, by code', 'unavailable', { code: -32603, data: null }],
  ['resource not found, by code', 'not_found', { code: -32001 }],
  ['resource unavailable, by code', 'unavailable', { code: -32002 }],
  ['revert, by code', 'reverted', { code: 3, message: '' }],
  ['string in data', 'insufficient_funds', { code: -32603, message: 'Internal error', data: 'insufficient funds' }],
  ['not the same as known', 'unknown', { code: -32000, message: 'Unknown transaction' }],
  ['generic', 'unknown', { code: -32003, message: 'Transaction rejected' }],
  ['nothing', 'unknown', {}],
])('%s is %s', (_, kind, error) => expect(classifyRpcError(error)).toBe(kind))

const encode = (selector: string, types: string[], values: unknown[]) =>
  selector + AbiCoder.defaultAbiCoder().encode(types, values).slice(2)
const early = encode('0x08c379a0', ['string'], ['too early'])
const custom = 'execution reverted: custom error'
const two = encode('0xcf479181', ['uint256', 'uint256'], [1, 2])

test.each<[string, string | undefined, unknown]>([
  ['geth', 'too early', { code: 3, message: 'execution reverted: too early', data: early }],
  ['hardhat', 'too early', { data: { message: '', txHash: `0x${'1'.repeat(64)}`, data: early } }],
  ['nethermind', 'too early', { code: -32015, message: 'VM execution error.', data: `Reverted ${early}` }],
  ['data.result', 'too early', { result: early }],
  ['bytes alone', 'too early', early.toUpperCase().replace('X', 'x')],
  ['bytes in the message', 'too early', { message: `execution reverted: ${early}` }],
  ['panic', 'panic 0x11 (arithmetic overflow or underflow)', encode('0x4e487b71', ['uint256'], [0x11])],
  ['unknown panic', 'panic 0x99 (no known code)', encode('0x4e487b71', ['uint256'], [0x99])],
  [
    'anvil',
    'unknown custom error 0xcf479181 (64 bytes of arguments)',
    { message: `${custom} 0xcf479181: \0\u0001`, data: two },
  ],
  [
    'custom error, no arguments',
    'unknown custom error 0x7a933234 (0 bytes of arguments)',
    { message: 'execution reverted', data: '0x7a933234' },
  ],
  ['hardhat, by name', 'Late(1)', { message: "reverted with custom error 'Late(1)'", data: { data: two } }],
  ['text alone', 'Dai/insufficient-balance', { code: 3, message: 'execution reverted: Dai/insufficient-balance' }],
  ['neither Error nor custom', '2 bytes that are no error of a contract', { data: '0x6162' }],
  ['an Error that is cut off', '49 bytes that are no error of a contract', early.slice(0, 100)],
  ['control characters and bidi', 'a b c', encode('0x08c379a0', ['string'], ['a\nb\u202ec\u0000'])],
  ['no reason', undefined, { code: 3, message: 'execution reverted', data: '0x' }],
  ['no revert', undefined, { code: -32000, message: 'nonce too low' }],
])('revert reason, %s: %s', (_, reason, error) => expect(revertReason(error)).toBe(reason))

test('classifies and explains any answer of a node, with a bounded and printable reason', () => {
  expect(revertReason(encode('0x08c379a0', ['string'], ['\u{1f600}'.repeat(1_000)]))).toHaveLength(500)
  const hex = fc.uint8Array({ maxLength: 1_000 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
  const selector = fc.constantFrom('0x08c379a0', '0x4e487b71', '0x12345678')
  const bytes = fc.tuple(selector, hex).map(([start, rest]) => start + rest.slice(2))
  const error = fc.record({ code: fc.anything(), message: fc.anything(), data: fc.oneof(bytes, fc.anything()) })
  fc.assert(
    fc.property(error, (error) => {
      expect(typeof classifyRpcError(error as object)).toBe('string')
      expect(revertReason(error) ?? 'none').toMatch(/^[^\p{C}\p{Zl}\p{Zp}]{1,500}$/u)
    }),
  )
})

test.each([
  ['Internal failure\nreverted: no funds', 'reverted'],
  ['Bad transaction\r\nmessage: invalid', 'rejected'],
  ['Gateway\nrequest too large', 'rejected'],
])('classifies the second line of an answer as it classifies a first one: %j', (message, kind) => {
  expect(classifyRpcError({ code: -32000, message: printable(message) })).toBe(kind)
})
