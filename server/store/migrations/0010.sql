-- Counts of transactions per block of sequence numbers, so that totals and deep pages of a filtered list cost a bounded number of
-- rows. Level 0 counts blocks of 1,000 sequence numbers, level 1 blocks of 1,000,000. Triggers keep the counts in the database
-- transaction of each change. `unfinished` are `pending`, `sent`, `submitted` and `mined` together: single counts would be written
-- with every step of a transaction. `oldest` and `newest` bound `created_at`, which is not always in the order of `sequence`: the
-- clock may be set back. `unfinished_bytes` is the size of the data of the unfinished.
CREATE TABLE transaction_blocks (
  relayer_key      INTEGER NOT NULL,
  level            INTEGER NOT NULL CHECK (level IN (0, 1)),
  block            INTEGER NOT NULL,
  oldest           TEXT NOT NULL,
  newest           TEXT NOT NULL,
  unfinished       INTEGER NOT NULL,
  confirmed        INTEGER NOT NULL,
  failed           INTEGER NOT NULL,
  canceled         INTEGER NOT NULL,
  expired          INTEGER NOT NULL,
  unfinished_bytes INTEGER NOT NULL,
  PRIMARY KEY (relayer_key, level, block)
) STRICT, WITHOUT ROWID;

-- The data of a transaction, apart from its row: a row is read and written many times, its data hardly ever.
CREATE TABLE transaction_data (
  transaction_key INTEGER PRIMARY KEY REFERENCES transactions (key) ON DELETE CASCADE,
  data            TEXT NOT NULL
) STRICT;
INSERT INTO transaction_data (transaction_key, data) SELECT key, data FROM transactions WHERE data IS NOT NULL;
ALTER TABLE transactions ADD COLUMN data_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE transactions SET data_bytes = (length(data) - 2) / 2 WHERE data IS NOT NULL;
ALTER TABLE transactions DROP COLUMN data;

INSERT INTO transaction_blocks
SELECT relayer_key, level, sequence / size, min(created_at), max(created_at),
  sum(status IN ('pending', 'sent', 'submitted', 'mined')), sum(status = 'confirmed'), sum(status = 'failed'),
  sum(status = 'canceled'), sum(status = 'expired'),
  sum(iif(status IN ('pending', 'sent', 'submitted', 'mined'), data_bytes, 0))
FROM transactions, (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000)
GROUP BY relayer_key, level, sequence / size;

CREATE TRIGGER transaction_inserted AFTER INSERT ON transactions BEGIN
  INSERT INTO transaction_blocks
  SELECT new.relayer_key, level, new.sequence / size, new.created_at, new.created_at,
    new.status IN ('pending', 'sent', 'submitted', 'mined'), new.status = 'confirmed', new.status = 'failed',
    new.status = 'canceled', new.status = 'expired',
    iif(new.status IN ('pending', 'sent', 'submitted', 'mined'), new.data_bytes, 0)
  FROM (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000) WHERE true
  ON CONFLICT DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest),
    unfinished = unfinished + excluded.unfinished, confirmed = confirmed + excluded.confirmed,
    failed = failed + excluded.failed, canceled = canceled + excluded.canceled, expired = expired + excluded.expired,
    unfinished_bytes = unfinished_bytes + excluded.unfinished_bytes;
END;

-- Steps from one unfinished status to another change no count.
CREATE TRIGGER transaction_changed AFTER UPDATE OF status, data_bytes ON transactions
WHEN new.data_bytes <> old.data_bytes OR new.status <> old.status AND (
  new.status IN ('confirmed', 'failed', 'canceled', 'expired') OR old.status IN ('confirmed', 'failed', 'canceled', 'expired')
) BEGIN
  UPDATE transaction_blocks SET
    unfinished = unfinished + (new.status IN ('pending', 'sent', 'submitted', 'mined')) - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed + (new.status = 'confirmed') - (old.status = 'confirmed'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed'),
    canceled = canceled + (new.status = 'canceled') - (old.status = 'canceled'),
    expired = expired + (new.status = 'expired') - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes + iif(new.status IN ('pending', 'sent', 'submitted', 'mined'), new.data_bytes, 0)
      - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_key = new.relayer_key AND level = 0 AND block = new.sequence / 1000;
  UPDATE transaction_blocks SET
    unfinished = unfinished + (new.status IN ('pending', 'sent', 'submitted', 'mined')) - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed + (new.status = 'confirmed') - (old.status = 'confirmed'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed'),
    canceled = canceled + (new.status = 'canceled') - (old.status = 'canceled'),
    expired = expired + (new.status = 'expired') - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes + iif(new.status IN ('pending', 'sent', 'submitted', 'mined'), new.data_bytes, 0)
      - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_key = new.relayer_key AND level = 1 AND block = new.sequence / 1000000;
END;

-- Retention removes transactions that have ended, from the oldest on.
CREATE TRIGGER transaction_removed AFTER DELETE ON transactions BEGIN
  UPDATE transaction_blocks SET
    unfinished = unfinished - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed - (old.status = 'confirmed'),
    failed = failed - (old.status = 'failed'),
    canceled = canceled - (old.status = 'canceled'),
    expired = expired - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_key = old.relayer_key AND level = 0 AND block = old.sequence / 1000;
  UPDATE transaction_blocks SET
    unfinished = unfinished - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed - (old.status = 'confirmed'),
    failed = failed - (old.status = 'failed'),
    canceled = canceled - (old.status = 'canceled'),
    expired = expired - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_key = old.relayer_key AND level = 1 AND block = old.sequence / 1000000;
  DELETE FROM transaction_blocks
  WHERE relayer_key = old.relayer_key AND unfinished + confirmed + failed + canceled + expired = 0
    AND (level, block) IN (VALUES (0, old.sequence / 1000), (1, old.sequence / 1000000));
END;
