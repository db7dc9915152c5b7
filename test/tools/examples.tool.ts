import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress, verifyMessage } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import { runExample } from '../support/examples.ts'
import { testRig } from '../support/test-rig.ts'

const folder = mkdtempSync(join(tmpdir(), 'relayer-examples-'))
const hardhat = join(folder, 'hardhat')
const arch = process.arch === 'x64' ? 'amd64' : process.arch
const cast = join(folder, 'node_modules', '@foundry-rs', `cast-${process.platform}-${arch}`, 'bin')

beforeAll(async () => {
  cpSync(join(import.meta.dirname, '..', '..', 'client', 'examples'), folder, { recursive: true })
  await runExample(folder, 'npm', ['install', '--no-save', '--ignore-scripts', '@foundry-rs/cast@1.7.1'], process.env)
  await runExample(hardhat, 'npm', ['install', '--no-audit', '--no-fund'], process.env)
  return () => rmSync(folder, { recursive: true, force: true })
})

async function start() {
  const rig = await testRig({ chain: { blockTime_s: 0.3 } })
  const { relayer_id, address } = await rig.addAccount()
  return { address, env: { RELAYER_URL: rig.url(), RELAYER_API_KEY: rig.api_key, RELAYER_ID: relayer_id } }
}

test('Hardhat example: deploys a contract and calls it', async () => {
  const { env } = await start()
  const program = join(hardhat, 'node_modules', '.bin', 'hardhat')
  const printed = await runExample(hardhat, program, ['run', '--no-compile', 'deploy.ts'], env)
  expect(printed).toMatch(/deployed at 0x[0-9a-fA-F]{40}\ncount 5n\n$/)
})

test('cast example: sends a transaction', async () => {
  const { address, env } = await start()
  const printed = await runExample(folder, 'sh', ['cast.sh'], { ...env, PATH: `${cast}:${process.env.PATH}` })
  expect(printed).toMatch(/\nstatus +1 \(success\)\n/)
  expect(printed.toLowerCase()).toContain(address)
})

test('Python example: signs and sends without the client', async () => {
  const { address, env } = await start()
  const [signature = '', sent] = (await runExample(folder, 'python3', ['python.py'], env)).trimEnd().split('\n')
  expect(verifyMessage('Hello', signature.replace('signature ', ''))).toBe(getAddress(address))
  expect(sent).toMatch(/^confirmed 0x[0-9a-f]{64}$/)
})
