-- From which relayer it gets funds, and when, as JSON; NULL: from none. The MAC of the row covers it.
ALTER TABLE relayers ADD COLUMN funding TEXT;

-- Each refill, before its transaction is accepted: `request` is what is sent, and the idempotency key contains the row id, which is never
-- used again. `treasury_row_id` may be of a relayer that was deleted.
CREATE TABLE refills (
  row_id          INTEGER PRIMARY KEY AUTOINCREMENT,
  relayer_row_id  INTEGER NOT NULL REFERENCES relayers (row_id) ON DELETE CASCADE,
  treasury_row_id INTEGER NOT NULL,
  treasury_id     TEXT NOT NULL,
  asset           TEXT,
  amount          TEXT NOT NULL,
  request         TEXT NOT NULL,
  transaction_id  TEXT,
  is_open         INTEGER NOT NULL DEFAULT 1 CHECK (is_open IN (0, 1)),
  block_number    INTEGER,
  created_at      TEXT NOT NULL
) STRICT;
-- One at a time.
CREATE UNIQUE INDEX refills_open ON refills (relayer_row_id) WHERE is_open = 1;
CREATE INDEX refills_by_relayer ON refills (relayer_row_id, row_id);

-- Whether a funded relayer has enough. It changes with the state only.
CREATE TABLE funding_states (
  relayer_row_id INTEGER PRIMARY KEY REFERENCES relayers (row_id) ON DELETE CASCADE,
  state          TEXT NOT NULL,
  reason         TEXT,
  since          TEXT NOT NULL
) STRICT;
