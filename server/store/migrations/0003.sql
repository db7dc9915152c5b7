-- Who did what. Entries are numbered without gaps, and each link seals those since the link before it: SHA-256 over that one's
-- hash and the entries (store/sqlite/audit.ts). So one link serves all that is committed together.
CREATE TABLE audit (
  sequence   INTEGER PRIMARY KEY,
  -- Milliseconds of the epoch.
  at         INTEGER NOT NULL,
  caller     TEXT NOT NULL,
  operation  TEXT NOT NULL,
  relayer_id TEXT,
  subject    TEXT,
  result     INTEGER NOT NULL,
  request_id TEXT
) STRICT;

CREATE TABLE audit_links (
  up_to INTEGER PRIMARY KEY,
  hash  BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
