-- The data of transactions, each version stored once. Transactions, events and first responses name the version that they have: a
-- body stored in `events.body` or `idempotency.answer` has `"data":null` in the place of the data that `data_key` names. Bodies
-- from before this column hold the data themselves.
CREATE TABLE data_versions (
  key  INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;
INSERT INTO data_versions (key, data) SELECT transaction_key, unhex(substr(data, 3)) FROM transaction_data;
ALTER TABLE transactions ADD COLUMN data_key INTEGER REFERENCES data_versions (key);
UPDATE transactions SET data_key = key WHERE key IN (SELECT transaction_key FROM transaction_data);
DROP TABLE transaction_data;
ALTER TABLE data_versions RENAME TO transaction_data;
ALTER TABLE events ADD COLUMN data_key INTEGER REFERENCES transaction_data (key);
ALTER TABLE idempotency ADD COLUMN data_key INTEGER REFERENCES transaction_data (key);
CREATE INDEX transactions_by_data ON transactions (data_key) WHERE data_key IS NOT NULL;
CREATE INDEX events_by_data ON events (data_key) WHERE data_key IS NOT NULL;
CREATE INDEX idempotency_by_data ON idempotency (data_key) WHERE data_key IS NOT NULL;

-- A version that nothing names any more is deleted.
CREATE TRIGGER transaction_data_replaced AFTER UPDATE OF data_key ON transactions
WHEN old.data_key IS NOT NULL AND new.data_key IS NOT old.data_key BEGIN
  DELETE FROM transaction_data WHERE key = old.data_key
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_key = old.data_key)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_key = old.data_key)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_key = old.data_key);
END;
CREATE TRIGGER transaction_with_data_deleted AFTER DELETE ON transactions WHEN old.data_key IS NOT NULL BEGIN
  DELETE FROM transaction_data WHERE key = old.data_key
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_key = old.data_key)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_key = old.data_key)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_key = old.data_key);
END;
CREATE TRIGGER event_with_data_deleted AFTER DELETE ON events WHEN old.data_key IS NOT NULL BEGIN
  DELETE FROM transaction_data WHERE key = old.data_key
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_key = old.data_key)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_key = old.data_key)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_key = old.data_key);
END;
CREATE TRIGGER idempotency_with_data_deleted AFTER DELETE ON idempotency WHEN old.data_key IS NOT NULL BEGIN
  DELETE FROM transaction_data WHERE key = old.data_key
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_key = old.data_key)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_key = old.data_key)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_key = old.data_key);
END;
