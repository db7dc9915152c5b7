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

-- The same for the deliveries to a notification. Their numbers are the keys, which all notifications share.
CREATE TABLE delivery_blocks (
  notification_key INTEGER NOT NULL,
  level            INTEGER NOT NULL CHECK (level IN (0, 1)),
  block            INTEGER NOT NULL,
  oldest           TEXT NOT NULL,
  newest           TEXT NOT NULL,
  pending          INTEGER NOT NULL,
  delivered        INTEGER NOT NULL,
  failed           INTEGER NOT NULL,
  PRIMARY KEY (notification_key, level, block)
) STRICT, WITHOUT ROWID;

INSERT INTO delivery_blocks
SELECT notification_key, level, key / size, min(created_at), max(created_at),
  sum(status = 'pending'), sum(status = 'delivered'), sum(status = 'failed')
FROM deliveries, (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000)
GROUP BY notification_key, level, key / size;

CREATE TRIGGER delivery_inserted AFTER INSERT ON deliveries BEGIN
  INSERT INTO delivery_blocks
  SELECT new.notification_key, level, new.key / size, new.created_at, new.created_at,
    new.status = 'pending', new.status = 'delivered', new.status = 'failed'
  FROM (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000) WHERE true
  ON CONFLICT DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest),
    pending = pending + excluded.pending, delivered = delivered + excluded.delivered, failed = failed + excluded.failed;
END;

CREATE TRIGGER delivery_changed AFTER UPDATE OF status ON deliveries WHEN new.status <> old.status BEGIN
  UPDATE delivery_blocks SET
    pending = pending + (new.status = 'pending') - (old.status = 'pending'),
    delivered = delivered + (new.status = 'delivered') - (old.status = 'delivered'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed')
  WHERE notification_key = new.notification_key AND level = 0 AND block = new.key / 1000;
  UPDATE delivery_blocks SET
    pending = pending + (new.status = 'pending') - (old.status = 'pending'),
    delivered = delivered + (new.status = 'delivered') - (old.status = 'delivered'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed')
  WHERE notification_key = new.notification_key AND level = 1 AND block = new.key / 1000000;
END;

CREATE TRIGGER delivery_removed AFTER DELETE ON deliveries BEGIN
  UPDATE delivery_blocks SET
    pending = pending - (old.status = 'pending'),
    delivered = delivered - (old.status = 'delivered'),
    failed = failed - (old.status = 'failed')
  WHERE notification_key = old.notification_key AND level = 0 AND block = old.key / 1000;
  UPDATE delivery_blocks SET
    pending = pending - (old.status = 'pending'),
    delivered = delivered - (old.status = 'delivered'),
    failed = failed - (old.status = 'failed')
  WHERE notification_key = old.notification_key AND level = 1 AND block = old.key / 1000000;
  DELETE FROM delivery_blocks WHERE notification_key = old.notification_key AND pending + delivered + failed = 0
    AND (level, block) IN (VALUES (0, old.key / 1000), (1, old.key / 1000000));
END;

-- A change of many deliveries, done in lots; each lot and how far it went are one database transaction, so that a process that
-- ends in between loses and repeats nothing. `redeliver`: failed ones from `since` on are pending again. `give_up`: pending ones
-- have failed, since their notification is disabled. `remove`: their notification was deleted. Deliveries with keys above `up_to`
-- came later and are not meant.
CREATE TABLE bulk_changes (
  key              INTEGER PRIMARY KEY,
  kind             TEXT NOT NULL CHECK (kind IN ('redeliver', 'give_up', 'remove')),
  notification_key INTEGER NOT NULL,
  since            TEXT NOT NULL,
  done_to          INTEGER NOT NULL,
  up_to            INTEGER NOT NULL,
  UNIQUE (kind, notification_key)
) STRICT;
