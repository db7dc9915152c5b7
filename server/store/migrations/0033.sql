-- Who asked for a transaction, as in the audit trail; NULL: it was accepted by an earlier version.
ALTER TABLE transactions ADD COLUMN caller TEXT;

-- Fees per caller, relayer and day, kept by a trigger in the database transaction of each change. `repriced`: transactions that got into a
-- block with a later version than the first; `repricing_gwei`: what they paid above what the first version would have paid in the same
-- block. `at` and fees: as in activity_days.
CREATE TABLE caller_days (
  at             INTEGER NOT NULL,
  relayer_row_id INTEGER NOT NULL,
  caller         TEXT NOT NULL,
  mined          INTEGER NOT NULL,
  fee_gwei       INTEGER NOT NULL,
  fee_wei        INTEGER NOT NULL,
  repriced       INTEGER NOT NULL,
  repricing_gwei REAL NOT NULL,
  PRIMARY KEY (at, relayer_row_id, caller)
) STRICT, WITHOUT ROWID;

-- Prices and gas are what nodes say: they are computed as REAL, which does not overflow, and cut as the fees are.
CREATE TRIGGER caller_of_end AFTER UPDATE OF status ON transactions
WHEN new.status IN ('confirmed', 'failed', 'canceled', 'expired') AND new.block_hash IS NOT NULL
  AND (old.status NOT IN ('confirmed', 'failed', 'canceled', 'expired') OR old.block_hash IS NULL)
  AND new.changed_at IS NOT NULL AND new.caller IS NOT NULL BEGIN
  INSERT INTO caller_days (at, relayer_row_id, caller, mined, fee_gwei, fee_wei, repriced, repricing_gwei)
  SELECT unixepoch(new.changed_at) / 86400 * 86400, new.relayer_row_id, new.caller, new.intent = 'send',
    min(CAST(substr(fee, 1, length(fee) - 9) AS INTEGER), 9000000000000000), CAST(substr(fee, -9) AS INTEGER),
    first_price IS NOT NULL, coalesce(min(max(price - first_price, 0) * gas_used / 1e9, 9e15), 0)
  FROM (
    SELECT coalesce(new.receipt ->> 'fee', '0') AS fee, CAST(new.receipt ->> 'gas_used' AS REAL) AS gas_used,
      CAST(new.receipt ->> 'effective_gas_price' AS REAL) AS price
  ) LEFT JOIN (
    SELECT coalesce(CAST(first.gas_price AS REAL), min(CAST(first.max_fee_per_gas AS REAL),
      CAST(new.receipt ->> 'effective_gas_price' AS REAL) - CAST(mined.max_priority_fee_per_gas AS REAL)
        + CAST(first.max_priority_fee_per_gas AS REAL))) AS first_price
    FROM attempts AS first JOIN attempts AS mined USING (transaction_row_id)
    WHERE transaction_row_id = new.row_id AND new.intent = 'send' AND first.number = 1
      AND mined.hash = new.hash AND mined.number > 1 LIMIT 1
  ) WHERE true
  ON CONFLICT DO UPDATE SET mined = mined + excluded.mined, fee_gwei = min(fee_gwei + excluded.fee_gwei, 9000000000000000),
    fee_wei = fee_wei + excluded.fee_wei, repriced = repriced + excluded.repriced,
    repricing_gwei = repricing_gwei + excluded.repricing_gwei;
END;

-- Changes of state that an operator should know, as each server noticed them. `at`: milliseconds since the Unix epoch. The newest are kept.
CREATE TABLE incidents (
  row_id   INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  server   TEXT NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('error', 'warning', 'over')),
  subject  TEXT NOT NULL,
  text     TEXT NOT NULL
) STRICT;
