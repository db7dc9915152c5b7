-- Counts per relayer and day, for longer charts and for what was spent. The quarters of an hour that are removed from `activity` are added
-- here; those that are still there are not in it. `at`: the start of the day in UTC, in seconds since the Unix epoch.
CREATE TABLE activity_days (
  at               INTEGER NOT NULL,
  relayer_row_id   INTEGER NOT NULL,
  accepted         INTEGER NOT NULL DEFAULT 0,
  mined            INTEGER NOT NULL DEFAULT 0,
  failed           INTEGER NOT NULL DEFAULT 0,
  inclusion_ms     INTEGER NOT NULL DEFAULT 0,
  max_inclusion_ms INTEGER NOT NULL DEFAULT 0,
  fee_gwei         INTEGER NOT NULL DEFAULT 0,
  fee_wei          INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (at, relayer_row_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER activity_of_days AFTER DELETE ON activity WHEN old.period_s = 900 BEGIN
  INSERT INTO activity_days (at, relayer_row_id, accepted, mined, failed, inclusion_ms, max_inclusion_ms, fee_gwei, fee_wei)
  VALUES (old.at / 86400 * 86400, old.relayer_row_id, old.accepted, old.mined, old.failed, old.inclusion_ms, old.max_inclusion_ms,
    old.fee_gwei, old.fee_wei)
  ON CONFLICT DO UPDATE SET accepted = accepted + excluded.accepted, mined = mined + excluded.mined, failed = failed + excluded.failed,
    inclusion_ms = inclusion_ms + excluded.inclusion_ms, max_inclusion_ms = max(max_inclusion_ms, excluded.max_inclusion_ms),
    fee_gwei = min(fee_gwei + excluded.fee_gwei, 9000000000000000), fee_wei = fee_wei + excluded.fee_wei;
END;

-- The service removes quarters of an hour, together.
DROP TRIGGER activity_pruned;
CREATE TRIGGER activity_pruned AFTER INSERT ON activity WHEN new.period_s = 60 BEGIN
  DELETE FROM activity WHERE (period_s, at, relayer_row_id) IN (
    SELECT period_s, at, relayer_row_id FROM activity WHERE period_s = 60 AND at < new.at - 6000 LIMIT 4
  );
END;
