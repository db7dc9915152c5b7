-- The API key that made it, or `environment`: an API key that is limited to relayers sees and uses only its own notifications.
ALTER TABLE notifications ADD COLUMN created_by TEXT NOT NULL DEFAULT 'environment';
CREATE INDEX notifications_by_creator ON notifications (created_by, key);

-- The policies on messages and typed data of all relayers on an address hold for each of them.
CREATE INDEX relayers_by_address ON relayers (address);

-- A row that grants rights carries a MAC over its content and version, under a key derived from the master key; a version is given
-- once in a database. The manifest, encrypted, holds the last version given and, of each table, a keyed set hash of its rows'
-- keys and versions: an older row or a missing one does not match it (store/sqlite/rights.ts).
ALTER TABLE api_keys ADD COLUMN rights_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN rights_mac BLOB;
ALTER TABLE relayers ADD COLUMN rights_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE relayers ADD COLUMN rights_mac BLOB;
ALTER TABLE networks ADD COLUMN rights_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE networks ADD COLUMN rights_mac BLOB;
ALTER TABLE notifications ADD COLUMN rights_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notifications ADD COLUMN rights_mac BLOB;
ALTER TABLE signers ADD COLUMN rights_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE signers ADD COLUMN rights_mac BLOB;
CREATE TABLE rights_manifest (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  sealed BLOB NOT NULL
) STRICT;
