import { randomBytes } from 'node:crypto'
import {
  AbiCoder,
  Contract,
  ContractFactory,
  hexlify,
  Interface,
  JsonRpcProvider,
  NonceManager,
  Signature,
  Wallet,
} from 'ethers'
import type { CreateFacilitatorRequest, X402Request } from '../../client/index.ts'
import type { Anvil } from './anvil.ts'
import { type CompiledContract, compileSolidity } from './solidity.ts'

/** The members of an authorization that a test changes, and who signs it; absent: the payer. */
interface Authorization {
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
  from: string
  signer: Wallet
  /** Changes the signature. */
  wrap(signature: string): string
}

/** A token of EIP-3009 on a chain, and those who pay with it. Addresses in lower case. */
export interface Money {
  token: string
  payee: string
  provider: JsonRpcProvider
  /** A payer with 1,000,000 units. */
  newPayer(): Promise<Wallet>
  /** Gives an account 1,000,000 units. */
  mint(to: string): Promise<void>
  /** The request of a payment of 10,000 units; `required`: other members of paymentRequirements and of accepted. */
  pay(payer: Wallet, authorization?: Partial<Authorization>, required?: object): Promise<X402Request>
  /** Somebody else submits the authorization. Resolves to the hash. */
  submit(request: X402Request): Promise<string>
  /** What the payee has. */
  received(): Promise<bigint>
  /** The account of an owner, which a factory makes when it is first used. */
  wallet(owner: Wallet): Promise<{ address: string; wrap(signature: string): string; make(): Promise<unknown> }>
  rules: Omit<CreateFacilitatorRequest, 'pool_id'>
}

export const maxFee = 10n ** 16n
export const amount = '10000'
const balance = 1_000_000n
const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}
export const tokenAbi = new Interface([
  'function mint(address to, uint256 amount)',
  'function cancel(bytes32 nonce)',
  'function transfer(address to, uint256 amount)',
  'function balanceOf(address) view returns (uint256)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])
const factoryAbi = new Interface(['function make(address owner)', 'function addressOf(address) view returns (address)'])
const multicall = '0xcA11bde05977b3631167028862bE2a173976CA11'

let compiled: Record<'token' | 'factory' | 'batch', CompiledContract> | undefined

function contracts() {
  compiled ??= {
    token: compileSolidity('PaidToken.sol', 'PaidToken'),
    factory: compileSolidity('PaidToken.sol', 'WalletFactory'),
    batch: compileSolidity('PaidToken.sol', 'Batch'),
  }
  return compiled
}

/** Code that answers every call with 0, and does nothing: a token that knows no used nonce and transfers nothing. */
export const anyToken = '0x60206000f3'

/** The request of a payment of 10,000 units until `valid_before`, in seconds. `required`: other members of paymentRequirements and of accepted. */
export async function signPayment(
  payer: Wallet,
  { chain_id, token, payee, valid_before }: { chain_id: number; token: string; payee: string; valid_before: number },
  given: Partial<Authorization> = {},
  required: object = {},
): Promise<X402Request> {
  const { signer = payer, wrap = (signature: string) => signature, ...others } = given
  const authorization = {
    ...{ from: payer.address, to: payee, value: amount, validAfter: '0', validBefore: `${valid_before}` },
    ...{ nonce: hexlify(randomBytes(32)), ...others },
  }
  const domain = { name: 'USD Coin', version: '2', chainId: chain_id, verifyingContract: token }
  const signature = wrap(await signer.signTypedData(domain, types, authorization))
  const requirements = {
    ...{ scheme: 'exact', network: `eip155:${chain_id}`, amount, asset: token, payTo: payee },
    ...{ maxTimeoutSeconds: 600, extra: { name: 'USD Coin', version: '2' }, ...required },
  }
  const payload = { x402Version: 2, accepted: requirements, payload: { signature, authorization } }
  return { x402Version: 2, paymentPayload: payload, paymentRequirements: requirements }
}

/** `mine`: after each deployment, on a chain that does not mine by itself. */
export async function deployMoney(chain: Anvil, mine?: () => Promise<void>): Promise<Money> {
  const provider = new JsonRpcProvider(chain.url, undefined, {
    cacheTimeout: -1,
    batchMaxCount: 1,
    pollingInterval: 50,
  })
  const deployer = new NonceManager(new Wallet(chain.accounts[9]?.key ?? '', provider))
  const deploy = async ({ abi, bytecode }: CompiledContract) => {
    const contract = await new ContractFactory(abi, bytecode, deployer).deploy()
    await mine?.()
    await contract.waitForDeployment()
    return (await contract.getAddress()).toLowerCase()
  }
  const token = await deploy(contracts().token)
  const factory = await deploy(contracts().factory)
  const batch = await deploy(contracts().batch)
  await provider.send('anvil_setCode', [multicall, await provider.getCode(batch)])
  const payee = Wallet.createRandom().address.toLowerCase()
  const send = async (to: string, data: string) => {
    const sent = await deployer.sendTransaction({ to, data })
    await mine?.()
    await sent.wait()
    return sent.hash
  }
  const mint = async (to: string) => void (await send(token, tokenAbi.encodeFunctionData('mint', [to, balance])))
  const tokenAt = new Contract(token, tokenAbi, provider)

  return {
    ...{ token, payee, provider, mint },
    async newPayer() {
      const payer = Wallet.createRandom() as unknown as Wallet
      await mint(payer.address)
      return payer
    },
    async pay(payer, given, required) {
      const { timestamp } = (await provider.getBlock('latest')) ?? { timestamp: 0 }
      const validBefore = Math.max(timestamp, Math.floor(Date.now() / 1_000)) + 600
      return signPayment(payer, { chain_id: chain.chain_id, token, payee, valid_before: validBefore }, given, required)
    },
    submit({ paymentPayload }) {
      const { signature, authorization: its } = (paymentPayload as unknown as Payload).payload
      const values = [its.from, its.to, its.value, its.validAfter, its.validBefore, its.nonce]
      return send(token, tokenAbi.encodeFunctionData('transferWithAuthorization', [...values, signature]))
    },
    received: () => tokenAt.balanceOf?.(payee) as Promise<bigint>,
    async wallet({ address: owner }) {
      const make = factoryAbi.encodeFunctionData('make', [owner])
      const address = `${await new Contract(factory, factoryAbi, provider).addressOf?.(owner)}`.toLowerCase()
      const wrapped = (signature: string) =>
        AbiCoder.defaultAbiCoder().encode(['address', 'bytes', 'bytes'], [factory, make, signature]) + '6492'.repeat(16)
      return { address, wrap: wrapped, make: () => send(factory, make) }
    },
    rules: {
      ...{ id: 'shop', assets: [{ asset: token, max_amount_per_payment: '50000' }], pay_to: payee, wait_seconds: 20 },
      ...{ max_fee_per_payment: `${maxFee}`, max_fee_per_day: `${maxFee * 1_000n}` },
    },
  }
}

interface Payload {
  payload: { signature: string; authorization: Omit<Authorization, 'signer' | 'wrap'> }
}

/** The authorization of a request. */
export const authorizationIn = ({ paymentPayload }: X402Request) => (paymentPayload as unknown as Payload).payload

/** The same signature with the other s of the curve, which tokens refuse. */
export function malleable(signature: string): string {
  const { r, s, yParity } = Signature.from(signature)
  const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  return `${r}${(n - BigInt(s)).toString(16).padStart(64, '0')}${yParity === 0 ? '1c' : '1b'}`
}
