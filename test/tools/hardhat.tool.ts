import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { counterAbi, counterBytecode } from '../support/counter.ts'
import { folderWith, freePrice, type Relayer, run, startRelayer, throughSpike } from './tool.ts'

/** A project of Hardhat as its documentation has it, with a remote account and a header. */
const folder = folderWith({
  'package.json': '{"private": true, "type": "module"}',
  'tsconfig.json': '{"compilerOptions": {"module": "node16", "target": "es2022"}}',
  'hardhat.config.ts': `
    import hardhatEthers from '@nomicfoundation/hardhat-ethers'
    import { defineConfig } from 'hardhat/config'

    export default defineConfig({
      plugins: [hardhatEthers],
      networks: {
        relayer: {
          type: 'http',
          url: process.env.RELAYER_URL ?? '',
          accounts: 'remote',
          httpHeaders: { Authorization: \`Bearer \${process.env.RELAYER_API_KEY}\` },
        },
      },
    })
  `,
  'work.ts': `
    import { network } from 'hardhat'

    const { ethers } = await network.create('relayer')
    const [signer] = await ethers.getSigners()
    const abi = ${JSON.stringify(counterAbi)}
    const deployed = await new ethers.ContractFactory(abi, '${counterBytecode}', signer).deploy()
    await deployed.waitForDeployment()
    await (await deployed.set(42n)).wait()
    const number = await deployed.get()
    const reason = await deployed.fail().catch((error) => error.message)
    const signature = await signer.signMessage('Hello')
    const recovered = ethers.verifyMessage('Hello', signature)
    const typed = [{ name: 'Exchange', chainId: 31337 }, { Order: [{ name: 'amount', type: 'uint256' }] }, { amount: 7n }]
    const typedRecovered = ethers.verifyTypedData(...typed, await signer.signTypedData(...typed))
    const address = signer.address
    console.log('RESULT' + JSON.stringify({ number: String(number), reason, recovered, typedRecovered, address }))
  `,
  'wait.ts': `
    import { network } from 'hardhat'

    const { ethers } = await network.create('relayer')
    const [signer] = await ethers.getSigners()
    const sent = await signer.sendTransaction({ to: '0x${'5a'.repeat(20)}', value: 1n })
    const receipt = await sent.wait()
    console.log('RESULT' + JSON.stringify({ sent: sent.hash, mined: receipt.hash, status: receipt.status }))
  `,
})

beforeAll(() => run(folder, 'npm', ['install', 'hardhat@3.18.0', '@nomicfoundation/hardhat-ethers@4.2.0']))

const script = async ({ env }: Relayer, file: string) => {
  const printed = await run(folder, join(folder, 'node_modules', '.bin', 'hardhat'), ['run', '--no-compile', file], env)
  return /RESULT(.*)/.exec(printed)?.[1] ?? printed
}

test('Hardhat: deploys, calls, waits and signs with a remote account', async () => {
  const relayer = await startRelayer()
  const { number, reason, recovered, typedRecovered, address } = JSON.parse(await script(relayer, 'work.ts'))
  expect(number).toBe('42')
  expect(reason).toContain('execution reverted')
  expect(address.toLowerCase()).toBe(relayer.account.address)
  expect(recovered).toBe(address)
  expect(typedRecovered).toBe(address)
})

test('Hardhat: returns the right receipt from wait() after its price was taken away and a higher one was signed', async () => {
  const relayer = await startRelayer({ chain: { noMining: true } })
  const { printed, hashes } = await throughSpike(relayer, () => script(relayer, 'wait.ts'), freePrice)
  const { sent, mined, status } = JSON.parse(printed)
  expect(status).toBe(1)
  expect(sent).toBe(hashes[0])
  expect(hashes.slice(1)).toContain(mined)
})
