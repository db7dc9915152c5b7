-- What is kept only for a time is found from what it belongs to: without these, each row that goes would be looked for in the
-- whole of the other table. Both grow at their end only.
CREATE INDEX idempotency_by_transaction ON idempotency (transaction_key);
CREATE INDEX deliveries_by_event ON deliveries (event_key);
