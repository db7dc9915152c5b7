-- The caller's own reference, and the filters of lists that an index answers. Without a check, which would read every row there is.
ALTER TABLE transactions ADD COLUMN reference TEXT;
CREATE INDEX transactions_by_reference ON transactions (relayer_key, reference, sequence) WHERE reference IS NOT NULL;
CREATE INDEX transactions_by_receiver ON transactions (relayer_key, "to", sequence) WHERE "to" IS NOT NULL;
CREATE INDEX attempts_by_hash ON attempts (hash);
