import { setTimeout as pause } from 'node:timers/promises'
import type { RelayerClient } from '../../client/index.ts'
import type { HeldSigner } from '../support/held-signer.ts'
import { available } from './callers.ts'
import type { Stage } from './stage.ts'

const lookMs = 50
/** Much longer than a takeover takes on a busy machine. */
const takeoverMs = 30_000
/** A resumed server stores its signature much sooner. */
const lateMs = 3_000

/**
 * Stops a server during a signature until another one has taken over its work, then resumes it and answers with the signature. Returns
 * its violations, a line each.
 */
export async function signLate(
  { rows, members }: Stage,
  client: RelayerClient,
  signer: HeldSigner,
  relayerId: string,
): Promise<string[]> {
  const attempts = () =>
    rows(
      `SELECT 1 FROM attempts JOIN transactions ON transactions.row_id = transaction_row_id
       JOIN relayers ON relayers.row_id = transactions.relayer_row_id WHERE relayers.id = $1`,
      [relayerId],
    )
  const wrong: string[] = []

  signer.hold()
  await available(() =>
    client.post('/api/v1/relayers/{relayer_id}/transactions', {
      path: { relayer_id: relayerId },
      header: { 'Idempotency-Key': 'late' },
      body: { to: signer.address, value: '1', gas_limit: 21_000 },
    }),
  )
  const [its] = await signer.held(1)
  const [owner] = await rows<{ row_id: string; name: string }>(
    `SELECT servers.row_id, servers.name FROM work_leases
     JOIN servers ON servers.row_id = server_row_id JOIN relayers ON relayers.row_id = work_leases.row_id
     WHERE kind = 'sender' AND relayers.id = $1`,
    [relayerId],
  )
  const sleeper = members.find((member) => owner?.name.endsWith(` ${member.pid()}`))?.pid()
  if (!owner || !sleeper) throw new Error('No server has the lease under which a signature was requested')
  process.kill(sleeper, 'SIGSTOP')
  try {
    // As after a minute for which the machine was suspended.
    await rows('UPDATE servers SET until = clock_timestamp() WHERE row_id = $1', [owner.row_id])
    const isTakenOver = await within(takeoverMs, () => signer.asked() > 1)
    if (!isTakenOver) wrong.push('no server took over the work of a stopped server')
    its?.answer()
  } finally {
    process.kill(sleeper, 'SIGCONT')
  }
  if (wrong.length === 0 && (await within(lateMs, async () => (await attempts()).length > 0))) {
    wrong.push('a server stored a signature after it had lost the lease')
  }
  signer.release()
  return wrong
}

async function within(ms: number, holds: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const end = performance.now() + ms; performance.now() < end; await pause(lookMs)) {
    if (await holds()) return true
  }
  return false
}
