-- Counts per relayer and period, kept by triggers in the database transaction of each change: a chart reads these rows and never
-- the transactions. `period_s`: a minute for charts of an hour, 15 minutes for charts of a day. `at`: the start of the period, in
-- seconds since the Unix epoch. Fees are in gwei and in the rest in wei, each below the limit of an integer: a value that a node
-- made up is cut at 9 million ether.
CREATE TABLE activity (
  period_s         INTEGER NOT NULL CHECK (period_s IN (60, 900)),
  at               INTEGER NOT NULL,
  relayer_row_id      INTEGER NOT NULL,
  accepted         INTEGER NOT NULL DEFAULT 0,
  mined            INTEGER NOT NULL DEFAULT 0,
  failed           INTEGER NOT NULL DEFAULT 0,
  inclusion_ms     INTEGER NOT NULL DEFAULT 0,
  max_inclusion_ms INTEGER NOT NULL DEFAULT 0,
  fee_gwei         INTEGER NOT NULL DEFAULT 0,
  fee_wei          INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (period_s, at, relayer_row_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER activity_of_acceptance AFTER INSERT ON transactions BEGIN
  INSERT INTO activity (period_s, at, relayer_row_id, accepted)
  VALUES (60, unixepoch(new.created_at) / 60 * 60, new.relayer_row_id, 1),
    (900, unixepoch(new.created_at) / 900 * 900, new.relayer_row_id, 1)
  ON CONFLICT DO UPDATE SET accepted = accepted + 1;
END;

-- A transaction that a cancellation replaced is not counted as mined; the fee of the cancellation is counted.
CREATE TRIGGER activity_of_block AFTER UPDATE OF status ON transactions
WHEN old.status IN ('pending', 'sent', 'submitted') AND new.status NOT IN ('pending', 'sent', 'submitted')
  AND new.receipt IS NOT NULL AND new.changed_at IS NOT NULL BEGIN
  INSERT INTO activity (period_s, at, relayer_row_id, mined, inclusion_ms, max_inclusion_ms, fee_gwei, fee_wei)
  SELECT period_s, unixepoch(new.changed_at) / period_s * period_s, new.relayer_row_id, is_sent, is_sent * waited_ms, is_sent * waited_ms,
    min(CAST(substr(fee, 1, length(fee) - 9) AS INTEGER), 9000000000000000), CAST(substr(fee, -9) AS INTEGER)
  FROM (SELECT 60 AS period_s UNION ALL SELECT 900), (
    SELECT new.intent = 'send' AS is_sent, coalesce(new.receipt ->> 'fee', '0') AS fee,
      max(CAST(round((unixepoch(new.changed_at, 'subsec') - unixepoch(new.created_at, 'subsec')) * 1000) AS INTEGER), 0) AS waited_ms
  ) WHERE true
  ON CONFLICT DO UPDATE SET mined = mined + excluded.mined, inclusion_ms = inclusion_ms + excluded.inclusion_ms,
    max_inclusion_ms = max(max_inclusion_ms, excluded.max_inclusion_ms),
    fee_gwei = min(fee_gwei + excluded.fee_gwei, 9000000000000000), fee_wei = fee_wei + excluded.fee_wei;
END;

CREATE TRIGGER activity_of_failure AFTER UPDATE OF status ON transactions
WHEN old.status <> 'failed' AND new.status = 'failed' AND new.changed_at IS NOT NULL BEGIN
  INSERT INTO activity (period_s, at, relayer_row_id, failed)
  VALUES (60, unixepoch(new.changed_at) / 60 * 60, new.relayer_row_id, 1),
    (900, unixepoch(new.changed_at) / 900 * 900, new.relayer_row_id, 1)
  ON CONFLICT DO UPDATE SET failed = failed + 1;
END;

-- Each new row removes some of the rows that no chart shows any more.
CREATE TRIGGER activity_pruned AFTER INSERT ON activity BEGIN
  DELETE FROM activity WHERE (period_s, at, relayer_row_id) IN (
    SELECT period_s, at, relayer_row_id FROM activity WHERE period_s = new.period_s AND at < new.at - 100 * new.period_s LIMIT 4
  );
END;
