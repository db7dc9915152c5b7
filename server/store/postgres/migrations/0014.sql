-- The relays that pass transactions on privately (JSON; NULL: none), and the default submission of transactions (JSON; NULL: public).
ALTER TABLE networks ADD COLUMN private_rpc_urls TEXT;
ALTER TABLE networks ADD COLUMN submission TEXT;
-- How a transaction reaches the chain (JSON, server/core/submission.ts); NULL: publicly, from the beginning.
ALTER TABLE transactions ADD COLUMN submission TEXT;
