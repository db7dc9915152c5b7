-- Counts per relayer and day: see 0029.sql of the SQLite schema. One statement adds what another one removed, in one order, so that servers
-- do not wait for each other in a circle.
CREATE TABLE activity_days (
  at               BIGINT NOT NULL,
  relayer_row_id   BIGINT NOT NULL,
  accepted         BIGINT NOT NULL DEFAULT 0,
  mined            BIGINT NOT NULL DEFAULT 0,
  failed           BIGINT NOT NULL DEFAULT 0,
  inclusion_ms     BIGINT NOT NULL DEFAULT 0,
  max_inclusion_ms BIGINT NOT NULL DEFAULT 0,
  fee_gwei         BIGINT NOT NULL DEFAULT 0,
  fee_wei          BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (at, relayer_row_id)
);

CREATE FUNCTION count_days() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO activity_days AS known (at, relayer_row_id, accepted, mined, failed, inclusion_ms, max_inclusion_ms, fee_gwei, fee_wei)
  SELECT at / 86400 * 86400, relayer_row_id, sum(accepted), sum(mined), sum(failed), sum(inclusion_ms), max(max_inclusion_ms),
    least(sum(fee_gwei), 9000000000000000), sum(fee_wei)
  FROM removed WHERE period_s = 900 GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (at, relayer_row_id) DO UPDATE SET accepted = known.accepted + excluded.accepted, mined = known.mined + excluded.mined,
    failed = known.failed + excluded.failed, inclusion_ms = known.inclusion_ms + excluded.inclusion_ms,
    max_inclusion_ms = greatest(known.max_inclusion_ms, excluded.max_inclusion_ms),
    fee_gwei = least(known.fee_gwei + excluded.fee_gwei, 9000000000000000), fee_wei = known.fee_wei + excluded.fee_wei;
  RETURN NULL;
END $$;
CREATE TRIGGER activity_of_days AFTER DELETE ON activity REFERENCING OLD TABLE AS removed
FOR EACH STATEMENT EXECUTE FUNCTION count_days();

CREATE OR REPLACE FUNCTION prune_activity() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF new.period_s <> 60 THEN RETURN NULL; END IF;
  DELETE FROM activity WHERE (period_s, at, relayer_row_id) IN (
    SELECT period_s, at, relayer_row_id FROM activity WHERE period_s = 60 AND at < new.at - 6000
    LIMIT 4 FOR UPDATE SKIP LOCKED
  );
  RETURN NULL;
END $$;
