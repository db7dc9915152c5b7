import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { HDNodeWallet, Mnemonic } from 'ethers'

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
const startDeadlineMs = 60_000
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

function developmentAccounts(count: number): Account[] {
  const branch = HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(mnemonic), "m/44'/60'/0'/0")
  return Array.from({ length: count }, (_, index) => {
    const { address, privateKey } = branch.deriveChild(index)
    return { address, key: privateKey }
  })
}

interface Running {
  port: number
  stop(signal: NodeJS.Signals): Promise<void>
}

async function launch(options: AnvilOptions, wanted: number): Promise<Running> {
  const { blockTime_s, noMining, accounts = 10, balance_eth = 10_000, args = [] } = options
  const child = spawn(
    binary(),
    [
      ...['--port', `${wanted}`, '--timestamp', `${nextGenesisS()}`],
      ...['--accounts', `${accounts}`, '--balance', `${balance_eth}`],
      ...(blockTime_s === undefined ? [] : ['--block-time', `${blockTime_s}`]),
      ...(noMining ? ['--no-mining'] : []),
      ...args,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()).once('error', () => resolve()))
  guardAgainstOrphan(child)
  const stop = async (signal: NodeJS.Signals) => {
    child.ref()
    child.kill(signal)
    await gone
  }

  try {
    const port = await listeningPort(child.stdout, child.stderr)
    // Nobody reads on, and a caller that forgets to stop the chain can still end.
    child.stdout.destroy()
    child.stderr.destroy()
    child.unref()
    return { port, stop }
  } catch (error) {
    await stop('SIGKILL')
    throw error
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

/** The port that anvil prints. Anvil chooses it, so that no other process can take it before the start. */
function listeningPort(stdout: Readable, stderr: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = ''
    let complained = ''
    const fail = (reason: string) => {
      clearTimeout(timer)
      reject(new NoChainError(`anvil does not start: ${reason}`))
    }
    const timer = setTimeout(() => fail(`it said nothing for ${startDeadlineMs} ms`), startDeadlineMs)
    stdout.setEncoding('utf8').on('data', (text) => {
      said += text
      const port = /^Listening on \S+:(\d+)\r?\n/m.exec(said)?.[1]
      if (port === undefined) return
      clearTimeout(timer)
      resolve(Number(port))
    })
    stderr.setEncoding('utf8').on('data', (text) => {
      complained += text
    })
    stderr.once('end', () => fail(complained.trim().replace(/^Error: /, '') || 'it ended without a word'))
  })
}

/**
 * Kills the chain when this process has ended in any way: vitest ends its forks by SIGTERM, for which no 'exit' listener runs, and
 * SIGKILL cannot be handled. The shell's `read` returns when our end of its pipe is closed. Without `sh`, nothing kills the chain.
 */
function guardAgainstOrphan(child: ChildProcess): void {
  if (child.pid === undefined) return
  const guard = spawn('sh', ['-c', 'read -r nothing; kill -9 "$0"', `${child.pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  guard.on('error', () => {})
  guard.unref()
  // Its number may be another process's one day.
  child.once('exit', () => guard.kill('SIGKILL'))
}
