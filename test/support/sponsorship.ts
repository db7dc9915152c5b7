import {
  AbiCoder,
  Contract,
  ContractFactory,
  concat,
  getBytes,
  Interface,
  JsonRpcProvider,
  keccak256,
  NonceManager,
  toBeHex,
  Wallet,
} from 'ethers'
import {
  type AuthorizationInput,
  type CreateSponsorshipWithRelayerIdRequest,
  createRelayerClient,
  type RelayerClient,
  type Sponsorship,
} from '../../client/index.ts'
import type { Anvil } from './anvil.ts'
import type { Rig, RigOptions } from './rig.ts'
import { type CompiledContract, compileSolidity } from './solidity.ts'
import { testRig } from './test-rig.ts'

/** A forwarder, a game and the code of accounts on a chain. Addresses in lower case. */
export interface Game {
  game: string
  forwarder: string
  account_code: string
  /** As `account_code`, with nonce keys (KeyedAccount.sol). */
  keyed_code: string
  /** Of all users together unless one is named. */
  plays(user?: string): Promise<bigint>
  /** A signed forward request as call data of `execute`. */
  forward(user: Wallet, request?: Partial<Forwarded>): Promise<string>
  /** The call that an account makes for its user, signed with the key of the account. */
  accountCall(user: Wallet, number: number, used?: number, to?: string, data?: string, value?: bigint): Promise<string>
  /** The same of an account with nonce keys. `sequence`: the number of the call under the key. */
  keyedCall(user: Wallet, number: number, key: bigint, sequence?: number): Promise<string>
  /** As an entry of `authorization_list`. */
  authorize(user: Wallet, code: string, nonce?: number): Promise<AuthorizationInput>
  balanceOf(address: string): Promise<bigint>
  /** What a sponsorship pays for in this game. */
  rules: Omit<CreateSponsorshipWithRelayerIdRequest, 'relayer_id' | 'pool_id'>
}

/** What a test does with one sponsorship. */
export interface SponsoredRig extends Game {
  rig: Rig
  client: RelayerClient
  sponsorship: Sponsorship
  token: string
  relayer: { id: string; address: string }
  rpc(method: string, params?: unknown, headers?: Record<string, string>): Promise<RpcAnswer>
  /** By the key of the sponsorship. */
  calls: RelayerClient
  balance(): Promise<bigint>
}

export interface RpcAnswer {
  status: number
  headers: Headers
  result?: unknown
  error?: { code: number; message: string; data?: unknown }
}

interface Forwarded {
  to: string
  value: bigint
  gas: bigint
  deadline: number
  data: string
  nonce: bigint
  /** Whose signature it has; absent: the user's. */
  signer: Wallet
}

export const gameAbi = new Interface([
  'function play(uint256 number)',
  'function burn(uint256 rounds)',
  'function plays() view returns (uint256)',
  'function playsOf(address) view returns (uint256)',
  'error TooLow(uint256 given)',
])
export const play = (number: number): string => gameAbi.encodeFunctionData('play', [number])
export const burn = (rounds: number): string => gameAbi.encodeFunctionData('burn', [rounds])
const selectorOf = (name: string) => gameAbi.getFunction(name)?.selector ?? ''
const types = {
  ForwardRequest: [
    ...[
      { name: 'from', type: 'address' },
      { name: 'to', type: 'address' },
    ],
    ...[
      { name: 'value', type: 'uint256' },
      { name: 'gas', type: 'uint256' },
    ],
    ...[
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint48' },
      { name: 'data', type: 'bytes' },
    ],
  ],
}
const execute = new Interface([
  'function execute((address from, address to, uint256 value, uint256 gas, uint48 deadline, bytes data, bytes signature) request) payable',
])
const account = new Interface(['function execute(bytes32 mode, bytes executionData) payable'])
const mode = `0x${'01000000000078210001'.padEnd(64, '0')}`
const callsType = 'tuple(address to, uint256 value, bytes data)[]'

/** A call that an account makes itself, which needs no signature (ERC-7821). */
export const ownCall = (to: string, value: bigint, data: string): string =>
  account.encodeFunctionData('execute', [
    `0x${'01'.padEnd(64, '0')}`,
    AbiCoder.defaultAbiCoder().encode([callsType], [[[to, value, data]]]),
  ])

let compiled: Record<'forwarder' | 'game' | 'account' | 'keyed', CompiledContract> | undefined

function contracts() {
  compiled ??= {
    forwarder: compileSolidity('@openzeppelin/contracts/metatx/ERC2771Forwarder.sol', 'ERC2771Forwarder'),
    game: compileSolidity('Game.sol', 'Game'),
    account: compileSolidity('BatchAccount.sol', 'BatchAccount'),
    keyed: compileSolidity('KeyedAccount.sol', 'KeyedAccount'),
  }
  return compiled
}

export const maxFee = 10n ** 16n

export const newUser = (): Wallet => Wallet.createRandom() as unknown as Wallet

/** `mine`: after each deployment, on a chain that does not mine by itself. */
export async function deployGame(chain: Anvil, mine?: () => Promise<void>): Promise<Game> {
  const provider = new JsonRpcProvider(chain.url, undefined, { cacheTimeout: -1, batchMaxCount: 1 })
  const deployer = new NonceManager(new Wallet(chain.accounts[9]?.key ?? '', provider))
  const deploy = async ({ abi, bytecode }: CompiledContract, ...args: unknown[]) => {
    const contract = await new ContractFactory(abi, bytecode, deployer).deploy(...args)
    await mine?.()
    await contract.waitForDeployment()
    return (await contract.getAddress()).toLowerCase()
  }
  const forwarder = await deploy(contracts().forwarder, 'Forwarder')
  const game = await deploy(contracts().game, forwarder)
  const accountCode = await deploy(contracts().account)
  const keyedCode = await deploy(contracts().keyed)
  const { chainId } = await provider.getNetwork()
  const domain = { name: 'Forwarder', version: '1', chainId, verifyingContract: forwarder }
  const nonceOf = new Contract(forwarder, ['function nonces(address) view returns (uint256)'], provider)
  const gameAt = new Contract(game, gameAbi, provider)

  return {
    ...{ game, forwarder, account_code: accountCode, keyed_code: keyedCode },
    plays: (user) => (user === undefined ? gameAt.plays?.() : gameAt.playsOf?.(user)) as Promise<bigint>,
    async forward(user, request = {}) {
      const { signer = user, nonce = await nonceOf.nonces?.(user.address), ...given } = request
      const { deadline = Math.floor(Date.now() / 1_000) + 600 } = given
      const content = { from: user.address, to: game, value: 0n, gas: 100_000n, data: play(1), ...given, deadline }
      const signature = await signer.signTypedData(domain, types, { ...content, nonce })
      return execute.encodeFunctionData('execute', [{ ...content, signature }])
    },
    async accountCall(user, number, used = 0, to = game, data = play(number), value = 0n) {
      const coder = AbiCoder.defaultAbiCoder()
      const its = [[to, value, data]]
      const content = coder.encode(['uint256', 'address', 'uint256', callsType], [chainId, user.address, used, its])
      const signature = await user.signMessage(getBytes(keccak256(content)))
      return account.encodeFunctionData('execute', [mode, coder.encode([callsType, 'bytes'], [its, signature])])
    },
    async keyedCall(user, number, key, sequence = 0) {
      const coder = AbiCoder.defaultAbiCoder()
      const its = [[game, 0n, play(number)]]
      const nonce = (key << 64n) | BigInt(sequence)
      const content = coder.encode(['uint256', 'address', 'uint256', callsType], [chainId, user.address, nonce, its])
      const signature = await user.signMessage(getBytes(keccak256(content)))
      const opData = concat([toBeHex(nonce, 32), signature])
      return account.encodeFunctionData('execute', [mode, coder.encode([callsType, 'bytes'], [its, opData])])
    },
    async authorize(user, address, nonce = 0) {
      const { signature } = await user.authorize({ address, nonce, chainId })
      const { r, s, yParity } = signature
      return { chain_id: Number(chainId), address, nonce, r, s, y_parity: yParity }
    },
    balanceOf: (address) => provider.getBalance(address),
    rules: {
      id: 'game',
      targets: [{ address: game, selectors: [selectorOf('play')] }],
      ...{ forwarders: [forwarder], delegates: [accountCode], origins: ['https://game.example'] },
      ...{ max_gas_per_call: 300_000, max_fee_per_call: `${maxFee}`, max_fee_per_day: `${maxFee * 100n}` },
    },
  }
}

/** A chain with a game, a service, and a sponsorship of the game with its key. */
export async function sponsoredRig(
  rules: Partial<CreateSponsorshipWithRelayerIdRequest> = {},
  options: RigOptions = {},
): Promise<SponsoredRig> {
  const rig = await testRig(options)
  const { relayer_id, address } = await rig.addAccount({ policies: { allow_authorizations: true } })
  const client = rig.client()
  const game = await deployGame(rig.chain, options.chain?.noMining ? rig.chain.mine : undefined)
  const { sponsorship, token } = await client.sponsorships.create({ ...game.rules, relayer_id, ...rules })
  return {
    ...{ ...game, rig, client, sponsorship, token },
    relayer: { id: relayer_id, address },
    async rpc(method, params = [], headers = {}) {
      const response = await fetch(`${rig.url()}/api/v1/rpc`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-API-Key': token, ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      return { status: response.status, headers: response.headers, ...((await response.json()) as object) }
    },
    calls: createRelayerClient({ baseUrl: rig.url(), token }),
    balance: () => game.balanceOf(address),
  }
}
