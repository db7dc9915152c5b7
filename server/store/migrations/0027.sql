-- The limits of a pool, as JSON. They and the list of its relayers grant rights: the MAC of the row covers them.
ALTER TABLE pools ADD COLUMN policies TEXT NOT NULL DEFAULT '{}';
ALTER TABLE pools ADD COLUMN rights_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pools ADD COLUMN rights_mac BLOB;
-- The pools that a key may use without rights to their relayers, as a JSON array; NULL: none.
ALTER TABLE api_keys ADD COLUMN pool_ids TEXT;
