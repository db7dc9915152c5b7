-- oldest server: 15
-- Servers from before would broadcast private transactions publicly, and count what sponsored calls paid at another moment.

-- Who asked for a transaction, fees per caller, relayer and day, and incidents: see 0033.sql of the SQLite schema.
ALTER TABLE transactions ADD COLUMN caller TEXT;
CREATE TABLE caller_days (
  at             BIGINT NOT NULL,
  relayer_row_id BIGINT NOT NULL,
  caller         TEXT NOT NULL,
  mined          BIGINT NOT NULL,
  fee_gwei       BIGINT NOT NULL,
  fee_wei        BIGINT NOT NULL,
  repriced       BIGINT NOT NULL,
  repricing_gwei DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (at, relayer_row_id, caller)
);

-- The transactions of a batch that end change each row of `activity` and `caller_days` once. A trigger for each row changed the same rows as
-- often, and took half of the time of such an update.
CREATE OR REPLACE FUNCTION count_ended() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT status FROM after_change WHERE status NOT IN ('pending', 'sent', 'submitted')
    UNION ALL SELECT status FROM before_change WHERE status NOT IN ('pending', 'sent', 'submitted')
  ) THEN RETURN NULL; END IF;
  INSERT INTO activity AS known (period_s, at, relayer_row_id, mined, failed, inclusion_ms, max_inclusion_ms, fee_gwei, fee_wei)
  SELECT period_s, floor(ended_s)::bigint / period_s * period_s, relayer_row_id, sum(is_in_block * is_sent), sum(is_failed),
    sum(is_in_block * is_sent * waited_ms), max(is_in_block * is_sent * waited_ms),
    least(sum(div(fee, 1000000000)), 9000000000000000), sum(mod(fee, 1000000000))
  FROM (
    SELECT relayer_row_id, is_in_block::int, is_failed::int, (intent = 'send')::int AS is_sent, ended_s,
      greatest(round((ended_s - extract(epoch FROM created_at::timestamptz)) * 1000), 0) AS waited_ms,
      CASE WHEN is_in_block THEN coalesce((receipt::json ->> 'fee')::numeric, 0) ELSE 0 END AS fee
    FROM (
      SELECT its.relayer_row_id, its.intent, its.receipt, its.created_at, extract(epoch FROM its.changed_at::timestamptz) AS ended_s,
        former.status IN ('pending', 'sent', 'submitted') AND its.status NOT IN ('pending', 'sent', 'submitted')
          AND its.receipt IS NOT NULL AS is_in_block,
        former.status <> 'failed' AND its.status = 'failed' AS is_failed
      FROM before_change AS former JOIN after_change AS its USING (row_id)
      WHERE former.status <> its.status AND its.changed_at IS NOT NULL
    ) AS changed
    WHERE is_in_block OR is_failed
  ) AS ended, (VALUES (60), (900)) AS periods (period_s)
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (period_s, at, relayer_row_id) DO UPDATE SET mined = known.mined + excluded.mined,
    failed = known.failed + excluded.failed, inclusion_ms = known.inclusion_ms + excluded.inclusion_ms,
    max_inclusion_ms = greatest(known.max_inclusion_ms, excluded.max_inclusion_ms),
    fee_gwei = least(known.fee_gwei + excluded.fee_gwei, 9000000000000000), fee_wei = known.fee_wei + excluded.fee_wei;
  INSERT INTO caller_days AS known (at, relayer_row_id, caller, mined, fee_gwei, fee_wei, repriced, repricing_gwei)
  SELECT floor(extract(epoch FROM changed_at::timestamptz))::bigint / 86400 * 86400, relayer_row_id, caller,
    sum(sign * (intent = 'send')::int), least(sum(sign * div(coalesce(fee, 0), 1000000000)), 9000000000000000),
    sum(sign * mod(coalesce(fee, 0), 1000000000)), sum(sign * (first_price IS NOT NULL)::int),
    least(sum(sign * coalesce(greatest(effective_gas_price - first_price, 0) * gas_used / 1000000000, 0)), 9000000000000000)
  FROM (
    SELECT 1 AS sign, row_id, relayer_row_id, caller, intent, hash, receipt, changed_at, status, block_hash FROM after_change
    UNION ALL
    SELECT -1, row_id, relayer_row_id, caller, intent, hash, receipt, changed_at, status, block_hash FROM before_change
  ) AS its
    CROSS JOIN LATERAL json_to_record(receipt::json) AS paid (fee numeric, effective_gas_price numeric, gas_used numeric)
    LEFT JOIN LATERAL (
      SELECT coalesce(first.gas_price::numeric, least(first.max_fee_per_gas::numeric,
        effective_gas_price - mined.max_priority_fee_per_gas::numeric + first.max_priority_fee_per_gas::numeric)) AS first_price
      FROM attempts AS first JOIN attempts AS mined USING (transaction_row_id)
      WHERE transaction_row_id = row_id AND intent = 'send' AND first.number = 1 AND mined.hash = its.hash AND mined.number > 1
      LIMIT 1
    ) AS repriced ON true
  WHERE status IN ('confirmed', 'failed', 'canceled', 'expired') AND block_hash IS NOT NULL
    AND changed_at IS NOT NULL AND caller IS NOT NULL
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (at, relayer_row_id, caller) DO UPDATE SET mined = known.mined + excluded.mined,
    fee_gwei = least(known.fee_gwei + excluded.fee_gwei, 9000000000000000), fee_wei = known.fee_wei + excluded.fee_wei,
    repriced = known.repriced + excluded.repriced, repricing_gwei = known.repricing_gwei + excluded.repricing_gwei;
  RETURN NULL;
END $$;

DROP TRIGGER activity_of_end ON transactions;
CREATE TRIGGER activity_of_end AFTER UPDATE ON transactions
REFERENCING OLD TABLE AS before_change NEW TABLE AS after_change
FOR EACH STATEMENT EXECUTE FUNCTION count_ended();

-- Nearly every attempt is changed once, when a node takes it: with room in its page, that changes no index.
ALTER TABLE attempts SET (fillfactor = 50);

CREATE TABLE incidents (
  row_id   BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  at       BIGINT NOT NULL,
  server   TEXT NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('error', 'warning', 'over')),
  subject  TEXT NOT NULL,
  text     TEXT NOT NULL
);

-- The search finds references by their beginning. In the order of a language, such references are no range; by their bytes they are. The
-- index serves equality as before.
DROP INDEX transactions_by_reference;
CREATE INDEX transactions_by_reference ON transactions (relayer_row_id, reference text_pattern_ops, sequence) WHERE reference IS NOT NULL;
