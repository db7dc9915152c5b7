-- A relayer reports to several notifications: the first is notification_id, the others are a JSON array; NULL: none.
ALTER TABLE relayers ADD COLUMN other_notification_ids TEXT;
-- Which events a notification receives, as JSON; NULL: all.
ALTER TABLE notifications ADD COLUMN filter TEXT;

-- A bulk change may also make the waiting deliveries due.
ALTER TABLE bulk_changes DROP CONSTRAINT bulk_changes_kind_check;
ALTER TABLE bulk_changes ADD CONSTRAINT bulk_changes_kind_check
  CHECK (kind IN ('redeliver', 'retry', 'give_up', 'remove'));

-- The caller's own names and values, as JSON; and their search.
ALTER TABLE transactions ADD COLUMN metadata TEXT;
CREATE TABLE transaction_metadata (
  relayer_row_id     BIGINT NOT NULL,
  name               TEXT NOT NULL,
  value              TEXT NOT NULL,
  sequence           BIGINT NOT NULL,
  transaction_row_id BIGINT NOT NULL,
  PRIMARY KEY (transaction_row_id, name)
);
CREATE INDEX transactions_by_metadata ON transaction_metadata (relayer_row_id, name, value, sequence);
