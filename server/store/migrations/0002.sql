-- Who may do what. Of a token only the digest of its secret is here.
CREATE TABLE api_keys (
  key           INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT NOT NULL UNIQUE,
  name          TEXT NOT NULL,
  secret_hash   BLOB NOT NULL CHECK (length(secret_hash) = 32),
  -- The secret before the last rotation, accepted until then.
  former_hash        BLOB CHECK (length(former_hash) = 32),
  former_valid_until TEXT,
  scopes        TEXT NOT NULL CHECK (json_valid(scopes)),
  -- Limited to what api_key_relayers lists, even when that is nothing any more.
  is_limited    INTEGER NOT NULL CHECK (is_limited IN (0, 1)),
  allowed_cidrs TEXT CHECK (json_valid(allowed_cidrs)),
  rate_limit    TEXT CHECK (json_valid(rate_limit)),
  expires_at    TEXT,
  created_at    TEXT NOT NULL,
  last_used_at  TEXT
) STRICT;

CREATE TABLE api_key_relayers (
  api_key_key INTEGER NOT NULL REFERENCES api_keys (key) ON DELETE CASCADE,
  relayer_key INTEGER NOT NULL REFERENCES relayers (key) ON DELETE CASCADE,
  PRIMARY KEY (api_key_key, relayer_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_relayers_by_relayer ON api_key_relayers (relayer_key);
