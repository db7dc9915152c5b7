-- The form of a transaction (EIP-2718). Null in rows from older versions, whose prices and lists tell it.
ALTER TABLE transactions ADD COLUMN type INTEGER CHECK (type IN (0, 1, 2, 4));
-- The prices that the request gave: repricing never exceeds them. Null: the service chooses.
ALTER TABLE transactions ADD COLUMN fee_ceiling TEXT;
ALTER TABLE transactions ADD COLUMN tip_ceiling TEXT;
-- The caller asked to replace what another sender has put into the pool at the same nonce.
ALTER TABLE transactions ADD COLUMN replaces_foreign INTEGER NOT NULL DEFAULT 0 CHECK (replaces_foreign IN (0, 1));
-- Why it waits, as a sentence. It was the part of status_reason after "Waits: ".
ALTER TABLE transactions ADD COLUMN wait_text TEXT;
UPDATE transactions SET wait_text = substr(status_reason, strpos(status_reason, 'Waits: ') + 7),
  status_reason = nullif(rtrim(substr(status_reason, 1, strpos(status_reason, 'Waits: ') - 1), '; '), '')
WHERE waiting_for IS NOT NULL AND strpos(status_reason, 'Waits: ') > 0;
ALTER TABLE attempts ADD COLUMN gas_limit BIGINT;
ALTER TABLE attempts ADD COLUMN refusal_kind TEXT;

-- The last transaction of the account that the chain or a node has and this service did not send.
ALTER TABLE accounts ADD COLUMN foreign_nonce BIGINT;
ALTER TABLE accounts ADD COLUMN foreign_hash TEXT;
ALTER TABLE accounts ADD COLUMN foreign_at TEXT;

-- The internal numbers of deleted relayers, by id: a relayer that is made again with the id takes over the Idempotency-Keys, so that a
-- repeated request stays the same request.
CREATE TABLE former_relayers (
  row_id     BIGINT PRIMARY KEY,
  relayer_id TEXT NOT NULL
);
CREATE INDEX former_relayers_by_id ON former_relayers (relayer_id);
