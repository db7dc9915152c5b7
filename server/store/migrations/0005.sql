-- What an account has spent of its limits per day, in steps of time: `bucket` counts them from the epoch, `asset` is `wei` or
-- a token's address, `amount` is decimal. It outlives its relayer, or a new one would begin with a new day.
CREATE TABLE spending (
  chain_id INTEGER NOT NULL,
  address  TEXT NOT NULL,
  asset    TEXT NOT NULL,
  bucket   INTEGER NOT NULL,
  amount   TEXT NOT NULL,
  PRIMARY KEY (chain_id, address, asset, bucket)
) STRICT, WITHOUT ROWID;

-- What of it is the transaction's, as JSON. Without a check, which would read every row there is.
ALTER TABLE transactions ADD COLUMN spent TEXT;
