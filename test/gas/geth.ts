import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { dataRoot } from '../support/data-root.ts'
import { until } from '../support/until.ts'

const command = process.env.GETH ?? 'geth'
const chainId = 31_337

/** A real geth with a block each second, which runs the rules of the fork Amsterdam from `fork_s` on, in seconds since the Unix epoch. */
export async function startGeth(forkS: number) {
  const dir = mkdtempSync(join(dataRoot, 'geth-'))
  const genesis = JSON.parse(
    `${execFileSync(command, ['--dev', 'dumpgenesis'], { stdio: ['ignore', 'pipe', 'ignore'] })}`,
  )
  const { bogotaTime: _, ...rules } = genesis.config
  const { prague } = rules.blobSchedule
  genesis.config = {
    ...{ ...rules, chainId: chainId, amsterdamTime: forkS },
    blobSchedule: { ...rules.blobSchedule, osaka: prague, amsterdam: prague },
  }
  genesis.gasLimit = '0x3938700'
  // geth's own development account, which is unlocked.
  const rich = '0x71562b71999873DB5b286dF957af199Ec94617F7'
  genesis.alloc[rich] = { balance: `0x${'f'.repeat(50)}` }
  const file = join(dir, 'genesis.json')
  writeFileSync(file, JSON.stringify(genesis))
  execFileSync(command, ['init', '--datadir', dir, file], { stdio: 'ignore' })
  const [port, auth] = [await freePort(), await freePort()]
  const own = ['--ipcdisable', '--nodiscover', '--port', '0', '--authrpc.port', `${auth}`]
  const child = spawn(
    command,
    [
      '--dev',
      '--dev.period',
      '1',
      '--datadir',
      dir,
      '--http',
      '--http.port',
      `${port}`,
      '--http.api',
      'eth,net',
      ...own,
    ],
    { stdio: 'ignore' },
  )
  const url = `http://127.0.0.1:${port}`
  const rpc = async <T>(method: string, params: unknown[] = []): Promise<T> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
    const { result, error } = (await response.json()) as { result: T; error?: { message: string } }
    if (error) throw new Error(error.message)
    return result
  }
  await until('geth answers', () =>
    rpc('eth_chainId').then(
      () => true,
      () => false,
    ),
  )
  return {
    url,
    rpc,
    fund: (to: string) => rpc('eth_sendTransaction', [{ from: rich, to, value: `0x${(10n ** 24n).toString(16)}` }]),
    async stop() {
      child.kill('SIGKILL')
      await until('geth has ended', () => child.exitCode !== null || child.signalCode !== null)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
