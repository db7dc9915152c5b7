-- oldest server: 16
-- The third round against faults of sending and hostile callers: see 0034.sql of the SQLite schema.

ALTER TABLE transactions ADD COLUMN pool_row_id BIGINT REFERENCES pool_ids (row_id);
CREATE INDEX transactions_by_pool ON transactions (pool_row_id, relayer_row_id, sequence) WHERE pool_row_id IS NOT NULL;

CREATE TABLE pool_blocks (
  pool_row_id    BIGINT NOT NULL,
  relayer_row_id BIGINT NOT NULL,
  level          INTEGER NOT NULL CHECK (level IN (0, 1)),
  block          BIGINT NOT NULL,
  oldest         ordered_text NOT NULL,
  newest         ordered_text NOT NULL,
  unfinished     BIGINT NOT NULL,
  confirmed      BIGINT NOT NULL,
  failed         BIGINT NOT NULL,
  canceled       BIGINT NOT NULL,
  expired        BIGINT NOT NULL,
  PRIMARY KEY (pool_row_id, relayer_row_id, level, block)
);

CREATE FUNCTION count_inserted_pool_transactions() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM added WHERE pool_row_id IS NOT NULL) THEN RETURN NULL; END IF;
  INSERT INTO pool_blocks AS known
  SELECT pool_row_id, relayer_row_id, level, sequence / size AS block, min(created_at), max(created_at),
    count(*) FILTER (WHERE status IN ('pending', 'sent', 'submitted', 'mined')),
    count(*) FILTER (WHERE status = 'confirmed'), count(*) FILTER (WHERE status = 'failed'),
    count(*) FILTER (WHERE status = 'canceled'), count(*) FILTER (WHERE status = 'expired')
  FROM added, (VALUES (0, 1000), (1, 1000000)) AS levels (level, size)
  WHERE pool_row_id IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
  ON CONFLICT (pool_row_id, relayer_row_id, level, block) DO UPDATE SET
    oldest = least(known.oldest, excluded.oldest), newest = greatest(known.newest, excluded.newest),
    unfinished = known.unfinished + excluded.unfinished, confirmed = known.confirmed + excluded.confirmed,
    failed = known.failed + excluded.failed, canceled = known.canceled + excluded.canceled,
    expired = known.expired + excluded.expired;
  RETURN NULL;
END $$;
CREATE TRIGGER pool_transactions_inserted AFTER INSERT ON transactions REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION count_inserted_pool_transactions();

CREATE FUNCTION count_changed_pool_transactions() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM after_change WHERE pool_row_id IS NOT NULL) THEN RETURN NULL; END IF;
  UPDATE pool_blocks AS known SET
    unfinished = known.unfinished + more.unfinished, confirmed = known.confirmed + more.confirmed,
    failed = known.failed + more.failed, canceled = known.canceled + more.canceled,
    expired = known.expired + more.expired
  FROM (
    SELECT pool_row_id, relayer_row_id, level, sequence / size AS block,
      sum(sign * (status IN ('pending', 'sent', 'submitted', 'mined'))::int) AS unfinished,
      sum(sign * (status = 'confirmed')::int) AS confirmed, sum(sign * (status = 'failed')::int) AS failed,
      sum(sign * (status = 'canceled')::int) AS canceled, sum(sign * (status = 'expired')::int) AS expired
    FROM (
      SELECT pool_row_id, relayer_row_id, sequence, status, 1 AS sign FROM after_change
      UNION ALL SELECT pool_row_id, relayer_row_id, sequence, status, -1 FROM before_change
    ) AS counted, (VALUES (0, 1000), (1, 1000000)) AS levels (level, size)
    WHERE pool_row_id IS NOT NULL GROUP BY 1, 2, 3, 4
  ) AS more
  WHERE known.pool_row_id = more.pool_row_id AND known.relayer_row_id = more.relayer_row_id
    AND known.level = more.level AND known.block = more.block
    AND (more.unfinished, more.confirmed, more.failed, more.canceled, more.expired) <> (0, 0, 0, 0, 0);
  RETURN NULL;
END $$;
CREATE TRIGGER pool_transactions_changed AFTER UPDATE ON transactions
REFERENCING OLD TABLE AS before_change NEW TABLE AS after_change
FOR EACH STATEMENT EXECUTE FUNCTION count_changed_pool_transactions();

CREATE FUNCTION count_deleted_pool_transactions() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM removed WHERE pool_row_id IS NOT NULL) THEN RETURN NULL; END IF;
  UPDATE pool_blocks AS known SET
    unfinished = known.unfinished - less.unfinished, confirmed = known.confirmed - less.confirmed,
    failed = known.failed - less.failed, canceled = known.canceled - less.canceled,
    expired = known.expired - less.expired
  FROM (
    SELECT pool_row_id, relayer_row_id, level, sequence / size AS block,
      count(*) FILTER (WHERE status IN ('pending', 'sent', 'submitted', 'mined')) AS unfinished,
      count(*) FILTER (WHERE status = 'confirmed') AS confirmed, count(*) FILTER (WHERE status = 'failed') AS failed,
      count(*) FILTER (WHERE status = 'canceled') AS canceled, count(*) FILTER (WHERE status = 'expired') AS expired
    FROM removed, (VALUES (0, 1000), (1, 1000000)) AS levels (level, size)
    WHERE pool_row_id IS NOT NULL GROUP BY 1, 2, 3, 4
  ) AS less
  WHERE known.pool_row_id = less.pool_row_id AND known.relayer_row_id = less.relayer_row_id
    AND known.level = less.level AND known.block = less.block;
  DELETE FROM pool_blocks WHERE unfinished + confirmed + failed + canceled + expired = 0
    AND (pool_row_id, relayer_row_id) IN (SELECT pool_row_id, relayer_row_id FROM removed);
  RETURN NULL;
END $$;
CREATE TRIGGER pool_transactions_deleted AFTER DELETE ON transactions REFERENCING OLD TABLE AS removed
FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_pool_transactions();
-- Ids against a second transaction: see 0034.sql.
CREATE TABLE deduplication_ids (
  chain_id           BIGINT NOT NULL,
  deduplication_id   TEXT NOT NULL,
  transaction_row_id BIGINT NOT NULL REFERENCES transactions (row_id),
  PRIMARY KEY (chain_id, deduplication_id)
);
CREATE INDEX deduplication_ids_by_transaction ON deduplication_ids (transaction_row_id);

-- A declaration finds an API key by its name (relayer apply): a second one of the same name would keep its rights unseen.
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name);
-- Of a network: the least prices that its nodes take, in wei per unit of gas (NULL: unknown), and the ERC-20 token that is its coin too.
ALTER TABLE networks ADD COLUMN min_priority_fee_per_gas TEXT;
ALTER TABLE networks ADD COLUMN min_gas_price TEXT;
ALTER TABLE networks ADD COLUMN coin_token TEXT;
-- What a call of the coin's token takes from the sender's balance besides the value, in wei; NULL: nothing.
ALTER TABLE transactions ADD COLUMN coin_spent TEXT;
-- Whether the request gave the gas limit, and whether the value is all that the highest fee leaves (a sweep).
ALTER TABLE transactions ADD COLUMN gas_is_given INTEGER NOT NULL DEFAULT 0 CHECK (gas_is_given IN (0, 1));
ALTER TABLE transactions ADD COLUMN is_sweep INTEGER NOT NULL DEFAULT 0 CHECK (is_sweep IN (0, 1));
-- What reads show of bytes: see 0034.sql.
ALTER TABLE transactions ADD COLUMN call TEXT;
ALTER TABLE attempts ADD COLUMN content_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN sig TEXT NOT NULL DEFAULT '';
-- Transactions that this database does not know: see 0034.sql.
CREATE TABLE unknown_transactions (
  chain_id   BIGINT NOT NULL,
  address    TEXT NOT NULL,
  nonce      BIGINT NOT NULL,
  noticed_at TEXT NOT NULL,
  hash       TEXT,
  "to"       TEXT,
  value      TEXT,
  data_hash  TEXT,
  PRIMARY KEY (chain_id, address, nonce)
);
ALTER TABLE accounts ADD COLUMN compared_count BIGINT;

CREATE TABLE audit_checkpoints (
  chain BIGINT PRIMARY KEY,
  up_to BIGINT NOT NULL,
  hash  BYTEA NOT NULL CHECK (length(hash) = 32)
);
-- A refill is accepted in one commit with its transaction, whose row says whether it is open and in which block it is.
DROP INDEX refills_open;
DELETE FROM refills WHERE transaction_id IS NULL;
ALTER TABLE refills DROP COLUMN is_open, DROP COLUMN block_number, DROP COLUMN request;
