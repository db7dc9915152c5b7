-- The key of a signer may be in a key service; `secret` then holds the reference to it, sealed. SQLite changes a CHECK only with a
-- new table. The references of `relayers` are checked at the commit.
PRAGMA defer_foreign_keys = ON;
CREATE TEMP TABLE former_signers AS SELECT key, id, type, address, secret, rights_version, rights_mac FROM signers;
CREATE TEMP TABLE former_sequence AS SELECT seq FROM sqlite_sequence WHERE name = 'signers';
DROP TABLE signers;
CREATE TABLE signers (
  key     INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT NOT NULL UNIQUE,
  type    TEXT NOT NULL CHECK (
    type IN ('local', 'aws_kms', 'google_cloud_kms', 'azure_key_vault', 'vault', 'pkcs11', 'remote')
  ),
  address TEXT NOT NULL CHECK (length(address) = 42),
  secret  BLOB NOT NULL,
  rights_version INTEGER NOT NULL DEFAULT 0,
  rights_mac     BLOB
) STRICT;
INSERT INTO signers (key, id, type, address, secret, rights_version, rights_mac) SELECT * FROM former_signers;
-- A key is never given twice.
DELETE FROM sqlite_sequence WHERE name = 'signers';
INSERT INTO sqlite_sequence (name, seq) SELECT 'signers', seq FROM former_sequence;
DROP TABLE former_signers;
DROP TABLE former_sequence;
