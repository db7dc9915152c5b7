import { join } from 'node:path'
import { TypedDataEncoder, verifyTypedData } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import { counterAbi, counterBytecode } from '../support/counter.ts'
import { folderWith, type Relayer, run, startRelayer, throughSpike } from './tool.ts'

/** web3.py as its documentation has it, with a header; the account is the node's. */
const connect = `
import json, os
from web3 import Web3

web3 = Web3(Web3.HTTPProvider(
    os.environ["RELAYER_URL"],
    request_kwargs={"headers": {"Authorization": "Bearer " + os.environ["RELAYER_API_KEY"]}},
))
account = web3.eth.accounts[0]
`

const types = { Order: [{ name: 'amount', type: 'uint256' }] }
const order = TypedDataEncoder.getPayload({ name: 'Exchange', chainId: 31_337 }, types, { amount: 7 })

const folder = folderWith({
  'work.py': `${connect}
from web3.exceptions import ContractCustomError

abi = json.loads('${JSON.stringify(counterAbi)}')
factory = web3.eth.contract(abi=abi, bytecode="${counterBytecode}")
deployed = web3.eth.wait_for_transaction_receipt(factory.constructor().transact({"from": account}))
counter = web3.eth.contract(address=deployed["contractAddress"], abi=abi)
receipt = web3.eth.wait_for_transaction_receipt(counter.functions.set(42).transact({"from": account}))
try:
    counter.functions.fail().transact({"from": account})
    reason = None
except ContractCustomError as error:
    reason = error.data
signature = web3.eth.sign_typed_data(account, json.loads('${JSON.stringify(order)}'))
print("RESULT" + json.dumps({
    "number": counter.functions.get().call(),
    "status": receipt["status"],
    "reason": reason,
    "signature": "0x" + bytes(signature).hex(),
}))
`,
  'wait.py': `${connect}
sent = web3.eth.send_transaction({"from": account, "to": Web3.to_checksum_address("0x${'5a'.repeat(20)}"), "value": 1})
receipt = web3.eth.wait_for_transaction_receipt(sent, timeout=300)
print("RESULT" + json.dumps({
    "sent": "0x" + bytes(sent).hex(),
    "mined": "0x" + bytes(receipt["transactionHash"]).hex(),
    "status": receipt["status"],
}))
`,
})

beforeAll(async () => {
  await run(folder, 'python3', ['-m', 'venv', 'venv'])
  await run(folder, join(folder, 'venv', 'bin', 'pip'), ['install', '--quiet', 'web3==8.0.0'])
})

const script = async ({ env }: Relayer, file: string) => {
  const printed = await run(folder, join(folder, 'venv', 'bin', 'python'), [file], env)
  return /RESULT(.*)/.exec(printed)?.[1] ?? printed
}

test('web3.py: deploys, calls, waits, decodes a custom error and signs typed data', async () => {
  const relayer = await startRelayer()
  const { signature, ...result } = JSON.parse(await script(relayer, 'work.py'))
  expect(result).toEqual({ number: 42, status: 1, reason: `0x9ad27b26${'7'.padStart(64, '0')}` })
  const signer = verifyTypedData(order.domain, types, order.message, signature)
  expect(signer.toLowerCase()).toBe(relayer.account.address)
})

test('web3.py: returns the right receipt after a higher price', async () => {
  const relayer = await startRelayer({ chain: { noMining: true } })
  const { printed, hashes } = await throughSpike(relayer, () => script(relayer, 'wait.py'))
  const { sent, mined, status } = JSON.parse(printed)
  expect(status).toBe(1)
  expect(sent).toBe(hashes[0])
  expect(hashes.slice(1)).toContain(mined)
})
