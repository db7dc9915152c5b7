-- The generation is the version of everything that processes cache; each change of such a row adds one.
CREATE TABLE generation (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  value INTEGER NOT NULL
) STRICT;
INSERT INTO generation (id, value) VALUES (1, 1);

-- One sealed row: only the master key that made this database opens it.
CREATE TABLE vault_check (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  sealed BLOB NOT NULL
) STRICT;

CREATE TABLE networks (
  key                    INTEGER PRIMARY KEY AUTOINCREMENT,
  id                     TEXT NOT NULL UNIQUE,
  name                   TEXT NOT NULL UNIQUE,
  network_type           TEXT NOT NULL CHECK (network_type = 'evm'),
  chain_id               INTEGER NOT NULL CHECK (chain_id > 0),
  rpc_urls               TEXT NOT NULL CHECK (json_valid(rpc_urls)),
  symbol                 TEXT,
  required_confirmations INTEGER NOT NULL CHECK (required_confirmations > 0),
  average_blocktime_ms   INTEGER,
  is_testnet             INTEGER NOT NULL CHECK (is_testnet IN (0, 1)),
  explorer_urls          TEXT NOT NULL CHECK (json_valid(explorer_urls)),
  features               TEXT NOT NULL CHECK (json_valid(features)),
  tags                   TEXT NOT NULL CHECK (json_valid(tags)),
  CHECK (id = 'evm:' || name)
) STRICT;

CREATE TABLE signers (
  key     INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT NOT NULL UNIQUE,
  type    TEXT NOT NULL CHECK (type = 'local'),
  address TEXT NOT NULL CHECK (length(address) = 42),
  secret  BLOB NOT NULL
) STRICT;

CREATE TABLE notifications (
  key         INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL UNIQUE,
  type        TEXT NOT NULL CHECK (type = 'webhook'),
  url         TEXT NOT NULL,
  signing_key BLOB,
  -- The key before, which goes on signing until then (milliseconds of the epoch).
  former_key      BLOB,
  former_until    INTEGER,
  disabled_reason TEXT,
  failing_since   TEXT,
  last_success_at TEXT
) STRICT;

-- AUTOINCREMENT: a key is never given twice, so a relayer that takes a deleted one's id does not inherit its transactions.
CREATE TABLE relayers (
  key             INTEGER PRIMARY KEY AUTOINCREMENT,
  id              TEXT NOT NULL UNIQUE,
  name            TEXT NOT NULL,
  network         TEXT NOT NULL REFERENCES networks (name),
  network_type    TEXT NOT NULL CHECK (network_type = 'evm'),
  chain_id        INTEGER NOT NULL,
  paused          INTEGER NOT NULL CHECK (paused IN (0, 1)),
  address         TEXT NOT NULL,
  signer_id       TEXT NOT NULL REFERENCES signers (id),
  notification_id TEXT REFERENCES notifications (id),
  policies        TEXT NOT NULL CHECK (json_valid(policies)),
  custom_rpc_urls TEXT NOT NULL CHECK (json_valid(custom_rpc_urls)),
  system_disabled INTEGER NOT NULL CHECK (system_disabled IN (0, 1)),
  disabled_reason TEXT,
  low_balance     INTEGER NOT NULL DEFAULT 0 CHECK (low_balance IN (0, 1)),
  UNIQUE (chain_id, address)
) STRICT;
CREATE INDEX relayers_by_signer ON relayers (signer_id);
CREATE INDEX relayers_by_notification ON relayers (notification_id) WHERE notification_id IS NOT NULL;

-- What an account (an address on a chain) has used. It outlives its relayer, and `next_nonce` goes back only when the highest
-- nonce, never signed, is given back. `genesis_hash` tells a chain that began anew from the one the nonces were used on.
CREATE TABLE accounts (
  chain_id     INTEGER NOT NULL,
  address      TEXT NOT NULL,
  next_nonce   INTEGER NOT NULL CHECK (next_nonce >= 0),
  genesis_hash TEXT,
  PRIMARY KEY (chain_id, address)
) STRICT, WITHOUT ROWID;

-- `sequence` counts a relayer's transactions without gaps: a page is a range of it, and a count is its end less its start.
-- A nonce of an account belongs to one transaction only, whichever relayer made it. `revision` grows with each change and
-- is what every change compares first; `intent` says how it shall end; `resign` that what was signed last is not what is
-- wanted now; `block_*` where it was last seen in the chain.
CREATE TABLE transactions (
  key                      INTEGER PRIMARY KEY,
  id                       TEXT NOT NULL UNIQUE,
  relayer_key              INTEGER NOT NULL,
  relayer_id               TEXT NOT NULL,
  sequence                 INTEGER NOT NULL CHECK (sequence > 0),
  chain_id                 INTEGER NOT NULL,
  hash                     TEXT,
  "from"                   TEXT NOT NULL,
  "to"                     TEXT,
  value                    TEXT NOT NULL,
  data                     TEXT,
  nonce                    INTEGER,
  gas_limit                INTEGER,
  gas_price                TEXT,
  max_fee_per_gas          TEXT,
  max_priority_fee_per_gas TEXT,
  status                   TEXT NOT NULL CHECK (
    status IN ('pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'canceled', 'expired')
  ),
  status_reason            TEXT,
  created_at               TEXT NOT NULL,
  sent_at                  TEXT,
  confirmed_at             TEXT,
  signature                TEXT CHECK (signature IS NULL OR json_valid(signature)),
  speed                    TEXT CHECK (speed IS NULL OR json_valid(speed)),
  valid_until              TEXT,
  intent                   TEXT NOT NULL DEFAULT 'send' CHECK (intent IN ('send', 'cancel', 'expire', 'fail')),
  resign                   INTEGER NOT NULL DEFAULT 0 CHECK (resign IN (0, 1)),
  block_number             INTEGER,
  block_hash               TEXT,
  reprice_at               INTEGER NOT NULL DEFAULT 0,
  revision                 INTEGER NOT NULL DEFAULT 0,
  UNIQUE (relayer_key, sequence),
  UNIQUE (chain_id, "from", nonce)
) STRICT;
CREATE INDEX transactions_pending ON transactions (relayer_key, nonce) WHERE status = 'pending';
CREATE INDEX transactions_flying ON transactions (relayer_key, nonce) WHERE status IN ('sent', 'submitted');
CREATE INDEX transactions_mined ON transactions (relayer_key, block_number) WHERE status = 'mined';
CREATE INDEX transactions_by_status ON transactions (relayer_key, status, sequence);

-- Every byte string that was ever signed for a transaction, durable before a node sees it.
CREATE TABLE attempts (
  transaction_key          INTEGER NOT NULL REFERENCES transactions (key),
  number                   INTEGER NOT NULL CHECK (number > 0),
  purpose                  TEXT NOT NULL CHECK (purpose IN ('send', 'cancel')),
  hash                     TEXT NOT NULL,
  raw                      BLOB NOT NULL,
  gas_price                TEXT,
  max_fee_per_gas          TEXT,
  max_priority_fee_per_gas TEXT,
  created_at               TEXT NOT NULL,
  PRIMARY KEY (transaction_key, number)
) STRICT, WITHOUT ROWID;

-- The first answer to an Idempotency-Key, kept as long as its transaction.
CREATE TABLE idempotency (
  caller          TEXT NOT NULL,
  relayer_key     INTEGER NOT NULL,
  idempotency_key TEXT NOT NULL,
  body_hash       TEXT NOT NULL,
  transaction_key INTEGER NOT NULL REFERENCES transactions (key),
  answer          TEXT NOT NULL,
  PRIMARY KEY (caller, relayer_key, idempotency_key)
) STRICT, WITHOUT ROWID;

-- What happened, in the order of its commits, a sequence a relayer; written in the transaction of the change itself. `body`
-- is what every delivery carries, to the byte; `subject` is whose events are delivered one after the other.
CREATE TABLE events (
  key         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  relayer_key INTEGER NOT NULL,
  sequence    INTEGER NOT NULL CHECK (sequence > 0),
  event       TEXT NOT NULL,
  subject     TEXT NOT NULL,
  body        TEXT NOT NULL CHECK (json_valid(body)),
  created_at  TEXT NOT NULL,
  UNIQUE (relayer_key, sequence)
) STRICT;

-- The outbox: written with the event, and emptied by the deliverer.
CREATE TABLE deliveries (
  key              INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  notification_key INTEGER NOT NULL,
  event_key        INTEGER NOT NULL REFERENCES events (key),
  subject          TEXT NOT NULL,
  status           TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
  failures         INTEGER NOT NULL DEFAULT 0,
  next_at          INTEGER NOT NULL,
  created_at       TEXT NOT NULL
) STRICT;
CREATE INDEX deliveries_due ON deliveries (notification_key, next_at) WHERE status = 'pending';
CREATE INDEX deliveries_in_order ON deliveries (notification_key, subject, key) WHERE status = 'pending';
CREATE INDEX deliveries_of ON deliveries (notification_key, status, key);

CREATE TABLE delivery_attempts (
  delivery_key INTEGER NOT NULL REFERENCES deliveries (key),
  number       INTEGER NOT NULL CHECK (number > 0),
  at           TEXT NOT NULL,
  duration_ms  INTEGER NOT NULL,
  status       INTEGER,
  error        TEXT,
  answer       TEXT,
  PRIMARY KEY (delivery_key, number)
) STRICT, WITHOUT ROWID;

-- Who does a work that only one process may do; times in milliseconds of the epoch.
CREATE TABLE leases (
  name  TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
