-- The third round against faults of sending and hostile callers.

-- The pool that a transaction was sent through: the right to a pool is one to these, and to nothing else of its relayers.
ALTER TABLE transactions ADD COLUMN pool_row_id INTEGER REFERENCES pool_ids (row_id);
CREATE INDEX transactions_by_pool ON transactions (pool_row_id, relayer_row_id, sequence) WHERE pool_row_id IS NOT NULL;

-- Counts per block of sequence numbers, as transaction_blocks (0009.sql), of what each relayer took for a pool.
CREATE TABLE pool_blocks (
  pool_row_id    INTEGER NOT NULL,
  relayer_row_id INTEGER NOT NULL,
  level          INTEGER NOT NULL CHECK (level IN (0, 1)),
  block          INTEGER NOT NULL,
  oldest         TEXT NOT NULL,
  newest         TEXT NOT NULL,
  unfinished     INTEGER NOT NULL,
  confirmed      INTEGER NOT NULL,
  failed         INTEGER NOT NULL,
  canceled       INTEGER NOT NULL,
  expired        INTEGER NOT NULL,
  PRIMARY KEY (pool_row_id, relayer_row_id, level, block)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER pool_transaction_inserted AFTER INSERT ON transactions WHEN new.pool_row_id IS NOT NULL BEGIN
  INSERT INTO pool_blocks
  SELECT new.pool_row_id, new.relayer_row_id, level, new.sequence / size, new.created_at, new.created_at,
    new.status IN ('pending', 'sent', 'submitted', 'mined'), new.status = 'confirmed', new.status = 'failed',
    new.status = 'canceled', new.status = 'expired'
  FROM (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000) WHERE true
  ON CONFLICT DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest),
    unfinished = unfinished + excluded.unfinished, confirmed = confirmed + excluded.confirmed,
    failed = failed + excluded.failed, canceled = canceled + excluded.canceled, expired = expired + excluded.expired;
END;

CREATE TRIGGER pool_transaction_changed AFTER UPDATE OF status ON transactions
WHEN new.pool_row_id IS NOT NULL AND new.status <> old.status AND (
  new.status IN ('confirmed', 'failed', 'canceled', 'expired') OR old.status IN ('confirmed', 'failed', 'canceled', 'expired')
) BEGIN
  UPDATE pool_blocks SET
    unfinished = unfinished + (new.status IN ('pending', 'sent', 'submitted', 'mined')) - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed + (new.status = 'confirmed') - (old.status = 'confirmed'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed'),
    canceled = canceled + (new.status = 'canceled') - (old.status = 'canceled'),
    expired = expired + (new.status = 'expired') - (old.status = 'expired')
  WHERE pool_row_id = new.pool_row_id AND relayer_row_id = new.relayer_row_id
    AND (level, block) IN (VALUES (0, new.sequence / 1000), (1, new.sequence / 1000000));
END;

CREATE TRIGGER pool_transaction_removed AFTER DELETE ON transactions WHEN old.pool_row_id IS NOT NULL BEGIN
  UPDATE pool_blocks SET
    unfinished = unfinished - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed - (old.status = 'confirmed'),
    failed = failed - (old.status = 'failed'),
    canceled = canceled - (old.status = 'canceled'),
    expired = expired - (old.status = 'expired')
  WHERE pool_row_id = old.pool_row_id AND relayer_row_id = old.relayer_row_id
    AND (level, block) IN (VALUES (0, old.sequence / 1000), (1, old.sequence / 1000000));
  DELETE FROM pool_blocks WHERE pool_row_id = old.pool_row_id AND relayer_row_id = old.relayer_row_id
    AND unfinished + confirmed + failed + canceled + expired = 0
    AND (level, block) IN (VALUES (0, old.sequence / 1000), (1, old.sequence / 1000000));
END;
-- The transaction that has an id that the caller gave it. Every relayer of the chain is refused a second one.
CREATE TABLE deduplication_ids (
  chain_id           INTEGER NOT NULL,
  deduplication_id   TEXT NOT NULL,
  transaction_row_id INTEGER NOT NULL REFERENCES transactions (row_id),
  PRIMARY KEY (chain_id, deduplication_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deduplication_ids_by_transaction ON deduplication_ids (transaction_row_id);

-- A declaration finds an API key by its name (relayer apply): a second one of the same name would keep its rights unseen.
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name);
-- Of a network: the least prices that its nodes take, in wei per unit of gas (NULL: unknown), and the ERC-20 token that is its coin too.
ALTER TABLE networks ADD COLUMN min_priority_fee_per_gas TEXT;
ALTER TABLE networks ADD COLUMN min_gas_price TEXT;
ALTER TABLE networks ADD COLUMN coin_token TEXT CHECK (json_valid(coin_token));
-- What a call of the coin's token takes from the sender's balance besides the value, in wei; NULL: nothing.
ALTER TABLE transactions ADD COLUMN coin_spent TEXT;
-- Whether the request gave the gas limit, and whether the value is all that the highest fee leaves (a sweep).
ALTER TABLE transactions ADD COLUMN gas_is_given INTEGER NOT NULL DEFAULT 0 CHECK (gas_is_given IN (0, 1));
ALTER TABLE transactions ADD COLUMN is_sweep INTEGER NOT NULL DEFAULT 0 CHECK (is_sweep IN (0, 1));
-- What reads show of bytes, so that they parse none: the decoded call of the data; of each attempt a hash of its content, and its signature.
ALTER TABLE transactions ADD COLUMN call TEXT;
ALTER TABLE attempts ADD COLUMN content_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN sig TEXT NOT NULL DEFAULT '';
-- Transactions of an account that this database does not know: another copy of it may have sent them. Without a hash: not found yet.
CREATE TABLE unknown_transactions (
  chain_id   INTEGER NOT NULL,
  address    TEXT NOT NULL,
  nonce      INTEGER NOT NULL,
  noticed_at TEXT NOT NULL,
  hash       TEXT,
  "to"       TEXT,
  value      TEXT,
  data_hash  TEXT,
  PRIMARY KEY (chain_id, address, nonce)
) STRICT, WITHOUT ROWID;
-- The account's count on chain when it was last compared with this database.
ALTER TABLE accounts ADD COLUMN compared_count INTEGER;

-- In place of the oldest entries of the audit trail that were removed by their age: the number and the hash of the last of them. The
-- only chain of SQLite is 0 here, which it is after a move to PostgreSQL.
CREATE TABLE audit_checkpoints (
  chain INTEGER PRIMARY KEY,
  up_to INTEGER NOT NULL,
  hash  BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
-- A refill is accepted in one commit with its transaction, whose row says whether it is open and in which block it is.
DROP INDEX refills_open;
DELETE FROM refills WHERE transaction_id IS NULL;
ALTER TABLE refills DROP COLUMN is_open;
ALTER TABLE refills DROP COLUMN block_number;
ALTER TABLE refills DROP COLUMN request;
