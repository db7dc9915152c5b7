-- ABIs of contracts. They decode; they grant nothing. All as JSON: `entries` is human-readable ABI, `functions` has those by their
-- selector, `errors` is the part of the custom errors that is stored with a transaction.
CREATE TABLE abis (
  row_id    INTEGER PRIMARY KEY,
  id        TEXT NOT NULL UNIQUE,
  network   TEXT NOT NULL,
  address   TEXT NOT NULL,
  name      TEXT NOT NULL,
  entries   TEXT NOT NULL,
  functions TEXT NOT NULL,
  errors    TEXT NOT NULL,
  UNIQUE (network, address)
) STRICT;

-- Who deals with a problem, until when.
CREATE TABLE acknowledgements (
  problem_id TEXT NOT NULL PRIMARY KEY,
  caller     TEXT NOT NULL,
  at         TEXT NOT NULL,
  until      TEXT NOT NULL,
  note       TEXT
) STRICT, WITHOUT ROWID;
