-- Every nonce below was used on the chain by transactions that this database does not hold, as signed bytes prove: the counter is
-- never lowered below it.
ALTER TABLE accounts ADD COLUMN used_below INTEGER NOT NULL DEFAULT 0;

-- Relayers whose confirmed transactions are still watched for reorganizations, although nothing of theirs is unfinished.
CREATE TABLE watches (
  relayer_key INTEGER PRIMARY KEY REFERENCES relayers (key) ON DELETE CASCADE
) STRICT;
