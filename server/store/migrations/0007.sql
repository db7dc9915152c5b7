-- `taken_at`: since when some node is known to have these bytes (it accepted them, knew them already, or found their hash); null:
-- no node is known to have them, and the rule that a replacement pays 10 % more does not hold against them. `refusal`: the last
-- reason for which a node refused them. `nonce`: the one that they were signed with; null in rows from before this column whose
-- transaction had ended.
ALTER TABLE attempts ADD COLUMN nonce INTEGER;
ALTER TABLE attempts ADD COLUMN taken_at TEXT;
ALTER TABLE attempts ADD COLUMN refusal TEXT;
UPDATE attempts SET
  nonce = (SELECT nonce FROM transactions WHERE key = transaction_key),
  taken_at = (SELECT iif(status = 'sent', NULL, attempts.created_at) FROM transactions WHERE key = transaction_key)
WHERE transaction_key IN (SELECT key FROM transactions WHERE status IN ('sent', 'submitted'))
  OR transaction_key IN (SELECT key FROM transactions WHERE status = 'mined');

-- `waiting_for`: a code for the reason why a transaction makes no progress; null while it does. `waits_told`: the codes that an
-- event told of, as a JSON array. Without checks, which would read every row there is.
ALTER TABLE transactions ADD COLUMN waiting_for TEXT;
ALTER TABLE transactions ADD COLUMN waits_told TEXT NOT NULL DEFAULT '[]';
