-- A relayer reports to several notifications: the first is notification_id, the others are a JSON array; NULL: none.
ALTER TABLE relayers ADD COLUMN other_notification_ids TEXT;
-- Which events a notification receives, as JSON; NULL: all.
ALTER TABLE notifications ADD COLUMN filter TEXT;

-- A bulk change may also make the waiting deliveries due.
CREATE TABLE new_bulk_changes (
  row_id              INTEGER PRIMARY KEY,
  kind                TEXT NOT NULL CHECK (kind IN ('redeliver', 'retry', 'give_up', 'remove')),
  notification_row_id INTEGER NOT NULL,
  since               TEXT NOT NULL,
  done_to             INTEGER NOT NULL,
  up_to               INTEGER NOT NULL,
  UNIQUE (kind, notification_row_id)
) STRICT;
INSERT INTO new_bulk_changes SELECT row_id, kind, notification_row_id, since, done_to, up_to FROM bulk_changes;
DROP TABLE bulk_changes;
ALTER TABLE new_bulk_changes RENAME TO bulk_changes;

-- The caller's own names and values, as JSON; and their search.
ALTER TABLE transactions ADD COLUMN metadata TEXT;
CREATE TABLE transaction_metadata (
  relayer_row_id     INTEGER NOT NULL,
  name               TEXT NOT NULL,
  value              TEXT NOT NULL,
  sequence           INTEGER NOT NULL,
  transaction_row_id INTEGER NOT NULL,
  PRIMARY KEY (transaction_row_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX transactions_by_metadata ON transaction_metadata (relayer_row_id, name, value, sequence);
