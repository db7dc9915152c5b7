-- The logins to PKCS #11 tokens: MACs of the PIN that a token accepted last, and of the one that is tried or was refused since.
CREATE TABLE token_logins (
  token    TEXT PRIMARY KEY,
  accepted BYTEA,
  tried    BYTEA,
  state    TEXT CHECK (state IN ('trying', 'refused')),
  since    BIGINT NOT NULL
);
