import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll } from 'vitest'
import { hashesOf, spike } from '../support/fee-spike.ts'
import { jsonRpcOf } from '../support/json-rpc.ts'
import type { Account, Rig, RigOptions } from '../support/rig.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

/** A folder for the files of a tool; it goes with the tests of the file. */
export function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-tool-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}

/** What a program prints. Its failure has all that it printed. */
export async function run(
  cwd: string,
  program: string,
  parameters: string[],
  env: Record<string, string> = {},
): Promise<string> {
  try {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 }
    return (await promisify(execFile)(program, parameters, options)).stdout.trim()
  } catch (error) {
    const { message, stdout, stderr } = error as { message: string; stdout?: string; stderr?: string }
    throw new Error([message, stdout, stderr].join('\n'), { cause: error })
  }
}

export interface Relayer {
  rig: Rig
  account: Account
  /** What a tool is given: the URL and the key. */
  env: { RELAYER_URL: string; RELAYER_API_KEY: string }
}

export async function startRelayer(options: RigOptions = {}): Promise<Relayer> {
  const rig = await testRig(options)
  const account = await rig.addAccount()
  const { url } = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  return { rig, account, env: { RELAYER_URL: url, RELAYER_API_KEY: rig.api_key } }
}

/**
 * Runs a tool that sends one transaction and waits for it, while that is signed again at a higher price. Resolves to what the tool
 * printed and to all hashes, the first of which the tool was given. `onSpike`: before the base fee rises.
 */
export async function throughSpike(
  { rig, account, env }: Relayer,
  tool: () => Promise<string>,
  onSpike: (relayer: Relayer) => Promise<unknown> = async () => {},
) {
  const printed = tool()
  const failed = printed.then(
    () => false,
    () => true,
  )
  await until('it is sent', async () => (await hashesOf(rig, 0)).length > 0 || (await Promise.race([failed, false])))
  if ((await hashesOf(rig, 0)).length > 0) {
    await onSpike({ rig, account, env })
    await spike(rig, 0)
  }
  let isDone = false
  void failed.then(() => {
    isDone = true
  })
  await account.finished(rig.chain.mine)
  // Some tools count confirmations, or look only when there is a new block.
  await until('the tool ends', () => isDone, rig.chain.mine)
  return { printed: await printed, hashes: await hashesOf(rig, 0) }
}

/** For a tool that sets prices itself: the service never signs above them, until somebody takes them away. */
export async function freePrice({ rig, account }: Relayer): Promise<void> {
  const [transaction] = await account.transactions()
  const { id: transactionId = '', to = null, value = '0' } = transaction ?? {}
  const path = { relayer_id: account.relayer_id, transaction_id: transactionId }
  const body = { to, value }
  await rig.client().put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path, body })
}
