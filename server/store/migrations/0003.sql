-- Who did what, in lots: whatever is committed together. Entries are numbered from 1 without gaps, and the hash of a lot is SHA-256
-- over that of the lot before and its entries (store/sqlite/audit.ts). An entry of its own row would cost a signature three times
-- as much.
CREATE TABLE audit (
  -- The number of its last entry, and of its first.
  up_to   INTEGER PRIMARY KEY,
  first   INTEGER NOT NULL CHECK (first <= up_to),
  -- JSON: an array of entries, each an array: number, milliseconds of the epoch, caller, operation, relayer's id, subject, result,
  -- request's id.
  entries TEXT NOT NULL,
  hash    BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
