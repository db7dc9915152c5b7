// A page whose visitors pay no gas: their wallet signs a forward request (ERC-2771), and the relayer sends it. Start it with `npx vite`.
import { createWalletClient, custom, encodeFunctionData, parseAbi, publicActions } from 'viem'

const { relayer, key, chainId, forwarder, game } = document.body.dataset
const status = document.querySelector('[role=status]')
const forwarderAbi = parseAbi([
  'function nonces(address) view returns (uint256)',
  'struct Request { address from; address to; uint256 value; uint256 gas; uint48 deadline; bytes data; bytes signature; }',
  'function execute(Request request) payable',
])
const types = {
  ForwardRequest: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'gas', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint48' },
    { name: 'data', type: 'bytes' },
  ],
}

async function ask(method, params) {
  const response = await fetch(`${relayer}/api/v1/rpc`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error, message } = await response.json()
  if (result === undefined) throw new Error(error?.message ?? message)
  return result
}

async function play() {
  const wallet = createWalletClient({ transport: custom(window.ethereum) }).extend(publicActions)
  const [account] = await wallet.requestAddresses()
  const nonces = { address: forwarder, abi: forwarderAbi, functionName: 'nonces', args: [account] }
  const request = {
    from: account,
    to: game,
    value: 0n,
    gas: 100_000n,
    nonce: await wallet.readContract(nonces),
    deadline: Math.floor(Date.now() / 1_000) + 600,
    data: encodeFunctionData({ abi: parseAbi(['function play(uint256 number)']), args: [1n] }),
  }
  const signature = await wallet.signTypedData({
    account,
    types,
    primaryType: 'ForwardRequest',
    domain: { name: 'Forwarder', version: '1', chainId: Number(chainId), verifyingContract: forwarder },
    message: request,
  })
  const data = encodeFunctionData({ abi: forwarderAbi, functionName: 'execute', args: [{ ...request, signature }] })
  status.textContent = 'sent'
  const { receipt, message } = await ask('relayer_sendTransactionSync', { chainId, to: forwarder, data })
  status.textContent = receipt ? `played in block ${Number(receipt.blockNumber)}` : message
}

document.querySelector('button').addEventListener('click', () =>
  play().catch((error) => {
    status.textContent = error.message
  }),
)
