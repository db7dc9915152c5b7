import type { OpenedStore } from './conformance/stores.ts'

const columns = (table: string, others: string[]) => `(
  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS names FROM pg_attribute
  WHERE attrelid = '${table}'::regclass AND attnum > 0 AND attname <> ALL ('{${others.join(',')}}'))`

/**
 * Multiplies the rows of the first relayer: `count` confirmed transactions, each with data, an attempt, an idempotency row, an event and
 * a delivery, copied from an accepted transaction. Then the planner's statistics show large tables.
 */
export async function fillPostgres({ rows }: Pick<OpenedStore, 'rows'>, count: number): Promise<void> {
  const copy = async (table: string, changes: Record<string, string>, where = 'true', times = count) => {
    const [found] = await rows<{ names: string }>(`SELECT names FROM ${columns(table, Object.keys(changes))} AS its`)
    const { names } = found as { names: string }
    const its = names
      .split(', ')
      .map((name) => `example.${name}`)
      .join(', ')
    await rows(`INSERT INTO ${table} (${Object.keys(changes).join(', ')}, ${names})
      SELECT ${Object.values(changes).join(', ')}, ${its}
      FROM generate_series(1, ${times}) AS i, (SELECT * FROM ${table} WHERE ${where} LIMIT 1) AS example`)
  }
  const first = 1_000_000
  await rows('SET statement_timeout = 0')
  await rows(`INSERT INTO transaction_data (row_id, data)
    SELECT ${first} + i, decode(md5(i::text), 'hex') FROM generate_series(1, ${count}) AS i`)
  await copy('transactions', {
    row_id: `${first} + i`,
    id: "'filled-' || i",
    sequence: `${first} + i`,
    nonce: `${first} + i`,
    data_row_id: `${first} + i`,
    status: "CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'confirmed' END",
    reference: "CASE WHEN i % 10 = 0 THEN 'ref-' || i % 1000 END",
    '"to"': "'0x' || lpad((i % 1000)::text, 40, '0')",
    created_at: "to_char(TIMESTAMP '2025-01-01' + i * INTERVAL '1 second', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')",
  })
  await copy('attempts', { transaction_row_id: `${first} + i`, hash: "'0x' || md5(i::text)" })
  await copy('idempotency', {
    idempotency_key: "'filled-' || i",
    transaction_row_id: `${first} + i`,
    data_row_id: `${first} + i`,
  })
  await copy('events', {
    row_id: `${first} + i`,
    id: "'filled-' || i",
    sequence: `${first} + i`,
    subject: "'filled-' || i",
    data_row_id: `${first} + i`,
  })
  await copy('deliveries', {
    row_id: `${first} + i`,
    id: "'filled-' || i",
    event_row_id: `${first} + i`,
    subject: "'filled-' || i",
    status: "CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'delivered' END",
  })
  await rows(`INSERT INTO delivery_attempts (delivery_row_id, number, attempted_at, duration_ms)
    SELECT ${first} + i, 1, '2025-01-01T00:00:00.000Z', 1 FROM generate_series(1, ${count}) AS i`)
  await rows(`INSERT INTO spending (chain_id, address, asset, bucket, amount)
    SELECT 1, '0x' || lpad((i % 500)::text, 40, '0'), 'wei', i, '1' FROM generate_series(1, ${count}) AS i`)
  await rows(`INSERT INTO accounts (chain_id, address, next_nonce)
    SELECT 7, '0x' || lpad(i::text, 40, '0'), 1 FROM generate_series(1, ${count}) AS i`)
  await rows("INSERT INTO audit_chains (chain, up_to, at, hash) VALUES (0, 0, 0, decode(repeat('00', 32), 'hex'))")
  await rows(`INSERT INTO audit (chain, up_to, first, at, entries, hash)
    SELECT 0, i, i, i, '[]', decode(repeat('00', 32), 'hex') FROM generate_series(1, ${count}) AS i`)
  await rows('ANALYZE')
}
