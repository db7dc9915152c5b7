import { expect, onTestFinished, test } from 'vitest'
import { stopUnderLoad } from './hostile/stop.ts'
import { startHeldSigner } from './support/held-signer.ts'
import { clean } from './support/ledger.ts'
import { temporaryFolder } from './support/service.ts'
import { testRig } from './support/test-rig.ts'
import { until } from './support/until.ts'

/** `npm run test:hostile` does it at 200 requests a second, with a clock. */
const options = { rate: 50, half_open: 10, before_ms: 1_000 }

test('loses nothing accepted at a SIGTERM under load', async () => {
  const result = await stopUnderLoad(temporaryFolder(), options)
  expect(result).toMatchObject({ code: 0, dropped: [], lost: 0 })
  expect(result.accepted).toBeGreaterThan(0)
})

/** A relayer whose signatures are held, and one transaction of it that waits for its signature. */
async function startHeldSending(graceMs?: number) {
  const signer = await startHeldSigner()
  onTestFinished(signer.stop)
  const rig = await testRig({ chain: { blockTime_s: 0.5 }, ...(graceMs !== undefined && { grace_ms: graceMs }) })
  const account = await rig.addAccount({ signer: signer.request })
  signer.hold()
  await account.send(1)
  await signer.held(1)
  const isRefused = () =>
    fetch(rig.url()).then(
      () => false,
      () => true,
    )
  return { signer, rig, account, isRefused }
}

test('waits at a stop for the signature of a key service that is being made', async () => {
  const { signer, rig, account, isRefused } = await startHeldSending()
  const restarted = rig.restart()
  await until('the service stops', isRefused)
  signer.release()
  await restarted
  await account.finished()
  expect(await account.score()).toEqual(clean(1))
  expect(signer.asked()).toBe(1)
})

test('records no wait when the service stops while the key service does not answer', async () => {
  const { signer, rig, account } = await startHeldSending(300)
  await account.send(70)
  await rig.restart()
  const rows = await account.transactions()
  expect(rows).toHaveLength(71)
  expect(rows.filter(({ status_reason }) => status_reason?.includes('key service does not sign'))).toEqual([])
  expect(rig.logged().filter((line) => !line.includes('the console is not built'))).toEqual([])
  signer.release()
  await account.finished()
  expect(await account.score()).toEqual(clean(71))
})
