import { setTimeout as pause } from 'node:timers/promises'
import type { RelayerClient } from '../../client/index.ts'
import type { HeldSigner } from '../support/held-signer.ts'
import { available } from './callers.ts'
import type { Stage } from './stage.ts'

const look_ms = 50
/** Far above what a takeover takes on a busy machine. */
const takeover_ms = 30_000
/** A server that wakes has stored what it signs long before. */
const late_ms = 3_000

/**
 * One server stops in the middle of a signature, another one takes its work over, and the first wakes and gets its signature. Returns
 * what it did that it may not: each is a line.
 */
export async function signLate(
  { rows, members }: Stage,
  client: RelayerClient,
  signer: HeldSigner,
  relayer_id: string,
): Promise<string[]> {
  const attempts = () =>
    rows(
      `SELECT 1 FROM attempts JOIN transactions ON transactions.row_id = transaction_row_id
       JOIN relayers ON relayers.row_id = transactions.relayer_row_id WHERE relayers.id = $1`,
      [relayer_id],
    )
  const wrong: string[] = []

  signer.hold()
  await available(() =>
    client.post('/api/v1/relayers/{relayer_id}/transactions', {
      path: { relayer_id },
      header: { 'Idempotency-Key': 'late' },
      body: { to: signer.address, value: '1', gas_limit: 21_000 },
    }),
  )
  const [its] = await signer.held(1)
  const [owner] = await rows<{ row_id: string; name: string }>(
    `SELECT servers.row_id, servers.name FROM work_leases
     JOIN servers ON servers.row_id = server_row_id JOIN relayers ON relayers.row_id = work_leases.row_id
     WHERE kind = 'sender' AND relayers.id = $1`,
    [relayer_id],
  )
  const sleeper = members.find((member) => owner?.name.endsWith(` ${member.pid()}`))?.pid()
  if (!owner || !sleeper) throw new Error('Nobody has the lease under which a signature was asked for')
  process.kill(sleeper, 'SIGSTOP')
  try {
    // As after a minute, of which the clock of a machine that was suspended does not know.
    await rows('UPDATE servers SET until = clock_timestamp() WHERE row_id = $1', [owner.row_id])
    const isTakenOver = await within(takeover_ms, () => signer.asked() > 1)
    if (!isTakenOver) wrong.push('nobody took the work of a stopped server over')
    its?.answer()
  } finally {
    process.kill(sleeper, 'SIGCONT')
  }
  if (wrong.length === 0 && (await within(late_ms, async () => (await attempts()).length > 0))) {
    wrong.push('a server stored a signature after it had lost the lease')
  }
  signer.release()
  return wrong
}

async function within(ms: number, holds: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const end = performance.now() + ms; performance.now() < end; await pause(look_ms)) {
    if (await holds()) return true
  }
  return false
}
