-- The internal number of a row is its `row_id`; `key` is left to API keys, signing keys and idempotency keys. SQLite would rewrite the
-- triggers in a form of its own, which the check of the schema refuses (store/sqlite/rights.ts), so they are made again. The MACs
-- of rows cover values, not names of columns, and stay valid.
DROP TRIGGER transaction_inserted;
DROP TRIGGER transaction_changed;
DROP TRIGGER transaction_removed;
DROP TRIGGER delivery_inserted;
DROP TRIGGER delivery_changed;
DROP TRIGGER delivery_removed;
DROP TRIGGER transaction_data_replaced;
DROP TRIGGER transaction_with_data_deleted;
DROP TRIGGER event_with_data_deleted;
DROP TRIGGER idempotency_with_data_deleted;

ALTER TABLE networks RENAME COLUMN key TO row_id;
ALTER TABLE notifications RENAME COLUMN key TO row_id;
ALTER TABLE relayers RENAME COLUMN key TO row_id;
ALTER TABLE transactions RENAME COLUMN key TO row_id;
ALTER TABLE transactions RENAME COLUMN relayer_key TO relayer_row_id;
ALTER TABLE transactions RENAME COLUMN data_key TO data_row_id;
ALTER TABLE attempts RENAME COLUMN transaction_key TO transaction_row_id;
ALTER TABLE idempotency RENAME COLUMN relayer_key TO relayer_row_id;
ALTER TABLE idempotency RENAME COLUMN transaction_key TO transaction_row_id;
ALTER TABLE idempotency RENAME COLUMN data_key TO data_row_id;
ALTER TABLE events RENAME COLUMN key TO row_id;
ALTER TABLE events RENAME COLUMN relayer_key TO relayer_row_id;
ALTER TABLE events RENAME COLUMN data_key TO data_row_id;
ALTER TABLE deliveries RENAME COLUMN key TO row_id;
ALTER TABLE deliveries RENAME COLUMN notification_key TO notification_row_id;
ALTER TABLE deliveries RENAME COLUMN event_key TO event_row_id;
ALTER TABLE delivery_attempts RENAME COLUMN delivery_key TO delivery_row_id;
ALTER TABLE api_keys RENAME COLUMN key TO row_id;
ALTER TABLE api_key_relayers RENAME COLUMN api_key_key TO api_key_row_id;
ALTER TABLE api_key_relayers RENAME COLUMN relayer_key TO relayer_row_id;
ALTER TABLE watches RENAME COLUMN relayer_key TO relayer_row_id;
ALTER TABLE transaction_blocks RENAME COLUMN relayer_key TO relayer_row_id;
ALTER TABLE delivery_blocks RENAME COLUMN notification_key TO notification_row_id;
ALTER TABLE bulk_changes RENAME COLUMN key TO row_id;
ALTER TABLE bulk_changes RENAME COLUMN notification_key TO notification_row_id;
ALTER TABLE transaction_data RENAME COLUMN key TO row_id;
ALTER TABLE signers RENAME COLUMN key TO row_id;

CREATE TRIGGER transaction_inserted AFTER INSERT ON transactions BEGIN
  INSERT INTO transaction_blocks
  SELECT new.relayer_row_id, level, new.sequence / size, new.created_at, new.created_at,
    new.status IN ('pending', 'sent', 'submitted', 'mined'), new.status = 'confirmed', new.status = 'failed',
    new.status = 'canceled', new.status = 'expired',
    iif(new.status IN ('pending', 'sent', 'submitted', 'mined'), new.data_bytes, 0)
  FROM (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000) WHERE true
  ON CONFLICT DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest),
    unfinished = unfinished + excluded.unfinished, confirmed = confirmed + excluded.confirmed,
    failed = failed + excluded.failed, canceled = canceled + excluded.canceled, expired = expired + excluded.expired,
    unfinished_bytes = unfinished_bytes + excluded.unfinished_bytes;
END;

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
  WHERE relayer_row_id = new.relayer_row_id AND level = 0 AND block = new.sequence / 1000;
  UPDATE transaction_blocks SET
    unfinished = unfinished + (new.status IN ('pending', 'sent', 'submitted', 'mined')) - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed + (new.status = 'confirmed') - (old.status = 'confirmed'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed'),
    canceled = canceled + (new.status = 'canceled') - (old.status = 'canceled'),
    expired = expired + (new.status = 'expired') - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes + iif(new.status IN ('pending', 'sent', 'submitted', 'mined'), new.data_bytes, 0)
      - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_row_id = new.relayer_row_id AND level = 1 AND block = new.sequence / 1000000;
END;

CREATE TRIGGER transaction_removed AFTER DELETE ON transactions BEGIN
  UPDATE transaction_blocks SET
    unfinished = unfinished - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed - (old.status = 'confirmed'),
    failed = failed - (old.status = 'failed'),
    canceled = canceled - (old.status = 'canceled'),
    expired = expired - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_row_id = old.relayer_row_id AND level = 0 AND block = old.sequence / 1000;
  UPDATE transaction_blocks SET
    unfinished = unfinished - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed - (old.status = 'confirmed'),
    failed = failed - (old.status = 'failed'),
    canceled = canceled - (old.status = 'canceled'),
    expired = expired - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_row_id = old.relayer_row_id AND level = 1 AND block = old.sequence / 1000000;
  DELETE FROM transaction_blocks
  WHERE relayer_row_id = old.relayer_row_id AND unfinished + confirmed + failed + canceled + expired = 0
    AND (level, block) IN (VALUES (0, old.sequence / 1000), (1, old.sequence / 1000000));
END;

CREATE TRIGGER delivery_inserted AFTER INSERT ON deliveries BEGIN
  INSERT INTO delivery_blocks
  SELECT new.notification_row_id, level, new.row_id / size, new.created_at, new.created_at,
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
  WHERE notification_row_id = new.notification_row_id AND level = 0 AND block = new.row_id / 1000;
  UPDATE delivery_blocks SET
    pending = pending + (new.status = 'pending') - (old.status = 'pending'),
    delivered = delivered + (new.status = 'delivered') - (old.status = 'delivered'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed')
  WHERE notification_row_id = new.notification_row_id AND level = 1 AND block = new.row_id / 1000000;
END;

CREATE TRIGGER delivery_removed AFTER DELETE ON deliveries BEGIN
  UPDATE delivery_blocks SET
    pending = pending - (old.status = 'pending'),
    delivered = delivered - (old.status = 'delivered'),
    failed = failed - (old.status = 'failed')
  WHERE notification_row_id = old.notification_row_id AND level = 0 AND block = old.row_id / 1000;
  UPDATE delivery_blocks SET
    pending = pending - (old.status = 'pending'),
    delivered = delivered - (old.status = 'delivered'),
    failed = failed - (old.status = 'failed')
  WHERE notification_row_id = old.notification_row_id AND level = 1 AND block = old.row_id / 1000000;
  DELETE FROM delivery_blocks WHERE notification_row_id = old.notification_row_id AND pending + delivered + failed = 0
    AND (level, block) IN (VALUES (0, old.row_id / 1000), (1, old.row_id / 1000000));
END;

CREATE TRIGGER transaction_data_replaced AFTER UPDATE OF data_row_id ON transactions
WHEN old.data_row_id IS NOT NULL AND new.data_row_id IS NOT old.data_row_id BEGIN
  DELETE FROM transaction_data WHERE row_id = old.data_row_id
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_row_id = old.data_row_id);
END;

CREATE TRIGGER transaction_with_data_deleted AFTER DELETE ON transactions WHEN old.data_row_id IS NOT NULL BEGIN
  DELETE FROM transaction_data WHERE row_id = old.data_row_id
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_row_id = old.data_row_id);
END;

CREATE TRIGGER event_with_data_deleted AFTER DELETE ON events WHEN old.data_row_id IS NOT NULL BEGIN
  DELETE FROM transaction_data WHERE row_id = old.data_row_id
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_row_id = old.data_row_id);
END;

CREATE TRIGGER idempotency_with_data_deleted AFTER DELETE ON idempotency WHEN old.data_row_id IS NOT NULL BEGIN
  DELETE FROM transaction_data WHERE row_id = old.data_row_id
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_row_id = old.data_row_id);
END;
