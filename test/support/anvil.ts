import { type ChildProcess, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HDNodeWallet, Mnemonic } from 'ethers'
import type { Order, Report } from './anvil-host.ts'

export interface AnvilOptions {
  /** Absent: a free one. */
  port?: number
  /** Absent: each transaction makes a block, shortly after the response with its hash. */
  blockTime_s?: number
  /** Blocks are made by `mine` only. */
  noMining?: boolean
  /** How many accounts of the development mnemonic are funded. Default 10. */
  accounts?: number
  /** What each of them has. Default 10,000. */
  balance_eth?: number
  /** More of anvil's own options. */
  args?: string[]
}

export interface Account {
  address: string
  key: string
}

/** A chain on this machine. Its methods throw ChainError when the chain rejects a call, and fetch's errors while it is down. */
export interface Anvil {
  url: string
  port: number
  chain_id: typeof chainId
  accounts: Account[]
  rpc<T = unknown>(method: string, params?: unknown[]): Promise<T>
  mine(blocks?: number): Promise<void>
  /** Replaces the last `depth` blocks by empty ones. Their transactions are not put back into the pool. */
  reorg(depth: number): Promise<void>
  /** The pool forgets the transaction. */
  dropTransaction(hash: string): Promise<void>
  /** The pool forgets everything. */
  dropAll(): Promise<void>
  /**
   * A fault of anvil: a transaction that comes while the block with the nonce before it is being made may stay queued for ever, although
   * its nonce is the account's next. The pool forgets the transactions of accounts of which two calls in a row find that; resolves to the
   * number of these accounts.
   */
  dropHeldUp(): Promise<number>
  /** The base fee of the next block; later ones follow from it by EIP-1559's rule. */
  setBaseFee(wei: bigint): Promise<void>
  setBalance(address: string, wei: bigint): Promise<void>
  setNonce(address: string, nonce: number): Promise<void>
  /** Kills the process by default, since it has no data to save. Resolves when it has ended, also when called twice. */
  stop(signal?: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): Promise<void>
  /** A new chain, with another genesis, at the same URL. */
  restart(): Promise<void>
}

/** An error that the chain answered. */
export class ChainError extends Error {
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message)
    this.name = 'ChainError'
    this.code = code
    this.data = data
  }
}

/** Why there is no chain, in a line for a person. */
export class NoChainError extends Error {}

const chainId = 31_337
const mnemonic = 'test test test test test test test test test test test junk'

/** Starts anvil, and resolves once it answers. Throws NoChainError. */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const { accounts = 10 } = options
  let running = await launch(options, options.port ?? 0)
  const port = running.port
  const url = `http://127.0.0.1:${port}`

  const rpc = async <T>(method: string, params: unknown[] = []): Promise<T> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = (await response.json()) as {
      result: T
      error?: ConstructorParameters<typeof ChainError>[0]
    }
    if (error) throw new ChainError(error)
    return result
  }
  const order = async (method: string, ...params: unknown[]) => {
    await rpc(method, params)
  }
  const stop: Anvil['stop'] = (signal = 'SIGKILL') => running.stop(signal)

  // A log line for every request costs both processes time.
  const silence = () => order('anvil_setLoggingEnabled', false)
  await silence()

  let heldUp: string[] = []
  const findHeldUp = async (): Promise<string[]> => {
    const { queued } = await rpc<{ queued: Record<string, object> }>('txpool_content')
    const accounts = Object.entries(queued).map(async ([address, byNonce]) => {
      const next = Number(await rpc('eth_getTransactionCount', [address, 'latest']))
      return next in byNonce ? [`${address} ${next}`] : []
    })
    return (await Promise.all(accounts)).flat()
  }

  return {
    url,
    port,
    chain_id: chainId,
    accounts: developmentAccounts(accounts),
    rpc,
    mine: (blocks = 1) => order('anvil_mine', hex(blocks)),
    reorg: (depth) => order('anvil_reorg', depth, []),
    dropTransaction: (hash) => order('anvil_dropTransaction', hash),
    dropAll: () => order('anvil_dropAllTransactions'),
    async dropHeldUp() {
      const before = heldUp
      heldUp = await findHeldUp()
      const still = heldUp.filter((one) => before.includes(one))
      for (const one of still) await order('anvil_removePoolTransactions', one.split(' ')[0])
      return still.length
    },
    setBaseFee: (wei) => order('anvil_setNextBlockBaseFeePerGas', hex(wei)),
    setBalance: (address, wei) => order('anvil_setBalance', address, hex(wei)),
    setNonce: (address, nonce) => order('anvil_setNonce', address, hex(nonce)),
    stop,
    async restart() {
      await stop()
      running = await launch(options, port)
      await silence()
    },
  }
}

const hex = (number: number | bigint) => `0x${number.toString(16)}`

/** Derived once, because it takes tens of milliseconds. */
const derived: Account[] = []

function developmentAccounts(count: number): Account[] {
  if (derived.length < count) {
    const branch = HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(mnemonic), "m/44'/60'/0'/0")
    for (let index = derived.length; index < count; index += 1) {
      const { address, privateKey } = branch.deriveChild(index)
      derived.push({ address, key: privateKey })
    }
  }
  return derived.slice(0, count).map((account) => ({ ...account }))
}

interface Running {
  port: number
  stop(signal: NodeJS.Signals): Promise<void>
}

async function launch(options: AnvilOptions, wanted: number): Promise<Running> {
  const { blockTime_s, noMining, accounts = 10, balance_eth = 10_000, args = [] } = options
  return startInHost([
    ...['--port', `${wanted}`, '--timestamp', `${nextGenesisS()}`],
    ...['--accounts', `${accounts}`, '--balance', `${balance_eth}`],
    ...(blockTime_s === undefined ? [] : ['--block-time', `${blockTime_s}`]),
    ...(noMining ? ['--no-mining'] : []),
    ...args,
  ])
}

type Listener = (report: Report) => void

let host: ChildProcess | undefined
let orders = 0
const listeners = new Map<number, Listener>()

/** The process that starts the chains of this one. */
function hostProcess(): ChildProcess {
  if (host?.connected) return host
  const started = fork(join(import.meta.dirname, 'anvil-host.ts'), {
    detached: true,
    execArgv: [],
    stdio: 'ignore',
    env: { PATH: process.env.PATH },
  })
  started.on('message', (report: Report) => listeners.get(report.number)?.(report))
  started.once('exit', () => {
    for (const [number, listen] of listeners) listen({ number, failure: 'the process that starts chains has ended' })
  })
  started.unref()
  host = started
  return started
}

/** Waits for a report. Meanwhile this process does not end; a caller that forgets to stop the chain can still end. */
async function whileHeld<T>(child: ChildProcess, report: Promise<T>): Promise<T> {
  held += 1
  child.channel?.ref()
  try {
    return await report
  } finally {
    held -= 1
    if (held === 0) child.channel?.unref()
  }
}
let held = 0

async function startInHost(args: string[]): Promise<Running> {
  const child = hostProcess()
  orders += 1
  const number = orders
  const order = (what: { binary: string; args: string[] } | { signal: NodeJS.Signals }) =>
    child.connected && child.send({ number, ...what } satisfies Order)
  const started = Promise.withResolvers<number>()
  const ended = Promise.withResolvers<void>()
  listeners.set(number, (report) => {
    if ('port' in report) return started.resolve(report.port)
    if ('failure' in report) started.reject(new NoChainError(`anvil does not start: ${report.failure}`))
    listeners.delete(number)
    ended.resolve()
  })
  order({ binary: binary(), args })
  return {
    port: await whileHeld(child, started.promise),
    async stop(signal) {
      order({ signal })
      await whileHeld(child, ended.promise)
    },
  }
}

/**
 * The genesis hash depends on nothing but the genesis second (and the options), so a chain that is restarted within a
 * second would have the same one.
 */
function nextGenesisS(): number {
  latestGenesisS = Math.max(Math.floor(Date.now() / 1_000), latestGenesisS + 1)
  return latestGenesisS
}
let latestGenesisS = 0

/** The wrapper that npm installs as `anvil` passes no SIGKILL on, hence the binary itself. */
function binary(): string {
  const { platform, arch } = process
  const name = `@foundry-rs/anvil-${platform}-${arch === 'x64' ? 'amd64' : arch}`
  const file = platform === 'win32' ? 'anvil.exe' : 'anvil'
  const path = join(import.meta.dirname, '..', '..', 'node_modules', name, 'bin', file)
  if (!existsSync(path)) throw new NoChainError(`There is no anvil for ${platform} ${arch}: ${name} is not installed`)
  return path
}
