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

-- A transaction counts while it is final and in a block: a change adds what it counts afterwards, and takes back what it counted. Prices
-- and gas are what nodes say: they are computed as REAL, which does not overflow, and cut as the fees are.
CREATE TRIGGER caller_of_end AFTER UPDATE OF status ON transactions
WHEN new.caller IS NOT NULL AND (new.status IN ('confirmed', 'failed', 'canceled', 'expired')
  OR old.status IN ('confirmed', 'failed', 'canceled', 'expired')) BEGIN
  INSERT INTO caller_days (at, relayer_row_id, caller, mined, fee_gwei, fee_wei, repriced, repricing_gwei)
  SELECT unixepoch(changed_at) / 86400 * 86400, new.relayer_row_id, new.caller, sign * (intent = 'send'),
    sign * min(CAST(substr(fee, 1, length(fee) - 9) AS INTEGER), 9000000000000000), sign * CAST(substr(fee, -9) AS INTEGER),
    sign * (first_price IS NOT NULL), sign * coalesce(min(max(price - first_price, 0) * gas_used / 1e9, 9e15), 0)
  FROM (
    SELECT its.*, CASE WHEN mined.number > 1 THEN coalesce(CAST(first.gas_price AS REAL), min(CAST(first.max_fee_per_gas AS REAL),
      price - CAST(mined.max_priority_fee_per_gas AS REAL) + CAST(first.max_priority_fee_per_gas AS REAL))) END AS first_price
    FROM (
      SELECT *, coalesce(receipt ->> 'fee', '0') AS fee, CAST(receipt ->> 'gas_used' AS REAL) AS gas_used,
        CAST(receipt ->> 'effective_gas_price' AS REAL) AS price
      FROM (
        SELECT 1 AS sign, new.status, new.block_hash, new.intent, new.hash, new.receipt, new.changed_at
        UNION ALL SELECT -1, old.status, old.block_hash, old.intent, old.hash, old.receipt, old.changed_at
      )
      WHERE status IN ('confirmed', 'failed', 'canceled', 'expired') AND block_hash IS NOT NULL AND changed_at IS NOT NULL
    ) AS its
    LEFT JOIN attempts AS first ON first.transaction_row_id = new.row_id AND first.number = 1
    LEFT JOIN attempts AS mined ON mined.transaction_row_id = new.row_id AND mined.number = (
      SELECT max(number) FROM attempts WHERE transaction_row_id = new.row_id AND hash = its.hash AND its.intent = 'send'
    )
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
