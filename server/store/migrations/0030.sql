-- What is paid for callers of others, and under which limits. `rules`: JSON. A relayer or a pool sends the calls; its row id tells it from
-- a later one with the same id. The API key is removed with it.
CREATE TABLE sponsorships (
  row_id         INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  network        TEXT NOT NULL,
  chain_id       INTEGER NOT NULL,
  relayer_id     TEXT,
  relayer_row_id INTEGER,
  pool_id        TEXT,
  pool_row_id    INTEGER,
  rules          TEXT NOT NULL,
  paused         INTEGER NOT NULL,
  api_key_id     TEXT NOT NULL UNIQUE,
  created_at     TEXT NOT NULL,
  rights_version INTEGER NOT NULL DEFAULT 0,
  rights_mac     BLOB
) STRICT;

-- How a transaction counts for a sponsorship, as JSON, and which lane it has: only one unfinished transaction may have it.
ALTER TABLE transactions ADD COLUMN sponsored TEXT;
ALTER TABLE transactions ADD COLUMN sponsored_lane TEXT;
CREATE INDEX transactions_by_lane ON transactions (sponsored_lane)
  WHERE sponsored_lane IS NOT NULL AND status IN ('pending', 'sent', 'submitted');
