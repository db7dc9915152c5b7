-- Every id that a pool ever had. The idempotency keys of a pool are those of `idempotency` with minus this row id in the place of the
-- relayer's, and a later pool with the same id continues them.
CREATE TABLE pool_ids (
  row_id INTEGER PRIMARY KEY AUTOINCREMENT,
  id     TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE pools (
  row_id  INTEGER PRIMARY KEY REFERENCES pool_ids (row_id),
  id      TEXT NOT NULL UNIQUE,
  name    TEXT NOT NULL,
  network TEXT NOT NULL
) STRICT;

CREATE TABLE pool_relayers (
  pool_row_id    INTEGER NOT NULL REFERENCES pools (row_id) ON DELETE CASCADE,
  relayer_row_id INTEGER NOT NULL REFERENCES relayers (row_id) ON DELETE CASCADE,
  weight         INTEGER NOT NULL,
  PRIMARY KEY (pool_row_id, relayer_row_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX pool_relayers_by_relayer ON pool_relayers (relayer_row_id);

-- The transactions that were sent through a pool with an ordering key.
CREATE TABLE pool_orders (
  transaction_row_id INTEGER PRIMARY KEY REFERENCES transactions (row_id),
  pool_row_id        INTEGER NOT NULL REFERENCES pool_ids (row_id),
  ordering_key       TEXT NOT NULL
) STRICT;
CREATE INDEX pool_orders_by_key ON pool_orders (pool_row_id, ordering_key, transaction_row_id);
