-- The access list (EIP-2930) and the authorizations (EIP-7702) of a transaction, as JSON; null: none.
ALTER TABLE transactions ADD COLUMN access_list TEXT;
ALTER TABLE transactions ADD COLUMN authorization_list TEXT;
