-- The schema of SQLite: the tables of PostgreSQL (store/postgres/schema.sql) with the same names and meanings.

-- The generation is the version of everything that processes cache; each change of such a row adds one.
CREATE TABLE generation (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  value INTEGER NOT NULL
) STRICT;
INSERT INTO generation (id, value) VALUES (1, 1);

-- Who does a work that only one process may do; times in milliseconds of the epoch.
CREATE TABLE leases (
  name  TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The wall clock when it was last believed, in milliseconds of the epoch. A clock that is far ahead of it deletes nothing.
CREATE TABLE believed_time (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  ms INTEGER NOT NULL
) STRICT;

-- The logins to PKCS #11 tokens: MACs of the PIN that a token accepted last, and of the one that is tried or was refused since.
CREATE TABLE token_logins (
  token    TEXT PRIMARY KEY,
  accepted BLOB,
  tried    BLOB,
  state    TEXT CHECK (state IN ('trying', 'refused')),
  since    INTEGER NOT NULL
) STRICT;

-- One sealed row: only the master key that made this database opens it. `wrapped_key`: the master key, encrypted by the key in a key
-- service that `wrapped_by` names; NULL when the master key is given by settings or files.
CREATE TABLE vault_check (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  sealed      BLOB NOT NULL,
  wrapped_by  TEXT,
  wrapped_key BLOB CHECK ((wrapped_key IS NULL) = (wrapped_by IS NULL))
) STRICT;

-- The MACs of rows that grant rights: see api_keys.
CREATE TABLE rights_manifest (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  sealed BLOB NOT NULL
) STRICT;

-- `min_*`: the least prices that the nodes of the network take, in wei per unit of gas; NULL: unknown. `coin_token`: the ERC-20 token
-- that is the coin too, as JSON.
CREATE TABLE networks (
  row_id                   INTEGER PRIMARY KEY AUTOINCREMENT,
  id                       TEXT NOT NULL UNIQUE,
  name                     TEXT NOT NULL UNIQUE,
  network_type             TEXT NOT NULL CHECK (network_type = 'evm'),
  chain_id                 INTEGER NOT NULL CHECK (chain_id > 0),
  rpc_urls                 TEXT NOT NULL CHECK (json_valid(rpc_urls)),
  symbol                   TEXT,
  required_confirmations   INTEGER NOT NULL CHECK (required_confirmations > 0),
  average_blocktime_ms     INTEGER,
  is_testnet               INTEGER NOT NULL CHECK (is_testnet IN (0, 1)),
  explorer_urls            TEXT NOT NULL CHECK (json_valid(explorer_urls)),
  features                 TEXT NOT NULL CHECK (json_valid(features)),
  tags                     TEXT NOT NULL CHECK (json_valid(tags)),
  -- The relays that pass transactions on privately (JSON; NULL: none), and the default submission of transactions (JSON; NULL: public).
  private_rpc_urls         TEXT,
  submission               TEXT,
  min_priority_fee_per_gas TEXT,
  min_gas_price            TEXT,
  coin_token               TEXT CHECK (json_valid(coin_token)),
  created_at               TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
  rights_version           INTEGER NOT NULL DEFAULT 0,
  rights_mac               BLOB,
  CHECK (id = 'evm:' || name)
) STRICT;

-- The keys. `secret`: the private key, or the reference to a key in a key service, sealed.
CREATE TABLE signers (
  row_id         INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  type           TEXT NOT NULL CHECK (type IN ('local', 'aws_kms', 'google_cloud_kms', 'azure_key_vault', 'vault', 'pkcs11', 'remote')),
  address        TEXT NOT NULL CHECK (length(address) = 42),
  secret         BLOB NOT NULL,
  created_at     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
  rights_version INTEGER NOT NULL DEFAULT 0,
  rights_mac     BLOB
) STRICT;

-- `created_by`: the API key that made it, or `environment`. An API key that is limited to relayers sees and uses only its own
-- notifications.
CREATE TABLE notifications (
  row_id          INTEGER PRIMARY KEY AUTOINCREMENT,
  id              TEXT NOT NULL UNIQUE,
  type            TEXT NOT NULL CHECK (type = 'webhook'),
  url             TEXT NOT NULL,
  signing_key     BLOB,
  -- The key before the last rotation, which signs too until then (milliseconds of the epoch).
  former_key      BLOB,
  former_until    INTEGER,
  disabled_reason TEXT,
  failing_since   TEXT,
  last_success_at TEXT,
  created_by      TEXT NOT NULL DEFAULT 'environment',
  -- Which events it receives, as JSON; NULL: all.
  filter          TEXT,
  created_at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
  rights_version  INTEGER NOT NULL DEFAULT 0,
  rights_mac      BLOB
) STRICT;
CREATE INDEX notifications_by_creator ON notifications (created_by, row_id);

-- A row id is never given twice (AUTOINCREMENT), so a relayer that takes the id of a deleted one does not inherit its transactions.
CREATE TABLE relayers (
  row_id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  id                     TEXT NOT NULL UNIQUE,
  name                   TEXT NOT NULL,
  network                TEXT NOT NULL REFERENCES networks (name),
  network_type           TEXT NOT NULL CHECK (network_type = 'evm'),
  chain_id               INTEGER NOT NULL,
  paused                 INTEGER NOT NULL CHECK (paused IN (0, 1)),
  address                TEXT NOT NULL,
  signer_id              TEXT NOT NULL REFERENCES signers (id),
  notification_id        TEXT REFERENCES notifications (id),
  -- As the contract has them: `allowed_functions` by `address`, `token_limits` by `asset`.
  policies               TEXT NOT NULL CHECK (json_valid(policies)),
  custom_rpc_urls        TEXT NOT NULL CHECK (json_valid(custom_rpc_urls)),
  system_disabled        INTEGER NOT NULL CHECK (system_disabled IN (0, 1)),
  disabled_reason        TEXT,
  low_balance            INTEGER NOT NULL DEFAULT 0 CHECK (low_balance IN (0, 1)),
  -- It reports to notification_id and to these, a JSON array; NULL: none.
  other_notification_ids TEXT,
  -- From which relayer it gets funds, and when, as JSON; NULL: from none.
  funding                TEXT,
  created_at             TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
  rights_version         INTEGER NOT NULL DEFAULT 0,
  rights_mac             BLOB,
  UNIQUE (chain_id, address)
) STRICT;
CREATE INDEX relayers_by_signer ON relayers (signer_id);
CREATE INDEX relayers_by_notification ON relayers (notification_id) WHERE notification_id IS NOT NULL;
-- The policies on messages and typed data of all relayers on an address hold for each of them.
CREATE INDEX relayers_by_address ON relayers (address);

-- Relayers whose confirmed transactions are still watched for reorganizations, although nothing of theirs is unfinished.
CREATE TABLE watches (
  relayer_row_id INTEGER PRIMARY KEY REFERENCES relayers (row_id) ON DELETE CASCADE
) STRICT;

-- The internal numbers of deleted relayers, by id: a relayer that is made again with the id takes over the Idempotency-Keys, so that a
-- repeated request stays the same request.
CREATE TABLE former_relayers (
  row_id     INTEGER PRIMARY KEY,
  relayer_id TEXT NOT NULL
) STRICT;
CREATE INDEX former_relayers_by_id ON former_relayers (relayer_id);

-- Every id that a pool ever had. The idempotency keys of a pool are those of `idempotency` with minus this row id in the place of the
-- relayer's, and a later pool with the same id continues them.
CREATE TABLE pool_ids (
  row_id INTEGER PRIMARY KEY AUTOINCREMENT,
  id     TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE pools (
  row_id         INTEGER PRIMARY KEY REFERENCES pool_ids (row_id),
  id             TEXT NOT NULL UNIQUE,
  name           TEXT NOT NULL,
  network        TEXT NOT NULL,
  -- The limits of the pool, as JSON, with the members of a relayer's (`max_amount_per_transaction`).
  policies       TEXT NOT NULL DEFAULT '{}',
  -- From which relayer its relayers get funds, and when, as JSON; NULL: from none.
  funding        TEXT,
  created_at     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
  rights_version INTEGER NOT NULL DEFAULT 0,
  rights_mac     BLOB
) STRICT;

-- The relayers of a pool.
CREATE TABLE pool_relayers (
  pool_row_id    INTEGER NOT NULL REFERENCES pools (row_id) ON DELETE CASCADE,
  relayer_row_id INTEGER NOT NULL REFERENCES relayers (row_id) ON DELETE CASCADE,
  weight         INTEGER NOT NULL,
  PRIMARY KEY (pool_row_id, relayer_row_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX pool_relayers_by_relayer ON pool_relayers (relayer_row_id);

-- What is paid for callers of others, and under which limits. `rules`: JSON (`max_fee_per_call`, `user_limits`
-- and others of the contract). A relayer or a pool sends the calls; its row id tells it
-- from a later one with the same id. The API key is removed with it.
CREATE TABLE sponsorships (
  row_id         INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  network        TEXT NOT NULL,
  chain_id       INTEGER NOT NULL,
  relayer_id     TEXT,
  relayer_row_id INTEGER,
  pool_id        TEXT,
  pool_row_id    INTEGER,
  rules          TEXT NOT NULL,
  paused         INTEGER NOT NULL,
  api_key_id     TEXT NOT NULL UNIQUE,
  created_at     TEXT NOT NULL,
  rights_version INTEGER NOT NULL DEFAULT 0,
  rights_mac     BLOB
) STRICT;

-- Whose payments of x402 a pool settles, and under which limits. `rules`: JSON (`max_fee_per_payment` and
-- others of the contract). The API key is removed with it.
CREATE TABLE facilitators (
  row_id         INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  network        TEXT NOT NULL,
  chain_id       INTEGER NOT NULL,
  pool_id        TEXT NOT NULL,
  pool_row_id    INTEGER NOT NULL,
  rules          TEXT NOT NULL,
  api_key_id     TEXT NOT NULL UNIQUE,
  created_at     TEXT NOT NULL,
  rights_version INTEGER NOT NULL DEFAULT 0,
  rights_mac     BLOB
) STRICT;

-- API keys. Of a token only the digest of its secret is here. A row that grants rights carries a MAC over its content and version, under
-- a key derived from the master key; a version is given once in a database. The manifest, encrypted, holds the last version given and, of
-- each table, a keyed set hash of its rows' keys and versions: an older row or a missing one does not match it (store/row-mac.ts).
CREATE TABLE api_keys (
  row_id                    INTEGER PRIMARY KEY AUTOINCREMENT,
  id                        TEXT NOT NULL UNIQUE,
  name                      TEXT NOT NULL,
  secret_hash               BLOB NOT NULL CHECK (length(secret_hash) = 32),
  -- The secret before the last rotation, accepted until then.
  former_tokens             BLOB CHECK (length(former_tokens) % 40 = 0),
  previous_token_expires_at TEXT,
  scopes                    TEXT NOT NULL CHECK (json_valid(scopes)),
  -- Limited to what api_key_relayers lists, even when that is nothing any more.
  is_limited                INTEGER NOT NULL CHECK (is_limited IN (0, 1)),
  allowed_cidrs             TEXT CHECK (json_valid(allowed_cidrs)),
  rate_limit                TEXT CHECK (json_valid(rate_limit)),
  expires_at                TEXT,
  created_at                TEXT NOT NULL,
  last_used_at              TEXT,
  -- The pools that a key may use without rights to their relayers, as a JSON array.
  pool_ids                  TEXT NOT NULL,
  -- What it may move (domain/policies/budgets.ts), as JSON; NULL: what its relayers allow.
  budget                    TEXT CHECK (json_valid(budget)),
  rights_version            INTEGER NOT NULL DEFAULT 0,
  rights_mac                BLOB
) STRICT;
-- `relayer apply` finds an API key by its name.
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name);

CREATE TABLE api_key_relayers (
  api_key_row_id INTEGER NOT NULL REFERENCES api_keys (row_id) ON DELETE CASCADE,
  relayer_row_id INTEGER NOT NULL REFERENCES relayers (row_id) ON DELETE CASCADE,
  PRIMARY KEY (api_key_row_id, relayer_row_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_relayers_by_relayer ON api_key_relayers (relayer_row_id);

-- ABIs of contracts. They decode; they grant nothing. All as JSON: `entries` is human-readable ABI, `functions` has those by their
-- selector, `errors` is the part of the custom errors that is stored with a transaction.
CREATE TABLE abis (
  row_id    INTEGER PRIMARY KEY,
  id        TEXT NOT NULL UNIQUE,
  network   TEXT NOT NULL,
  address   TEXT NOT NULL,
  name      TEXT NOT NULL,
  entries   TEXT NOT NULL,
  functions TEXT NOT NULL,
  errors    TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
  UNIQUE (network, address)
) STRICT;

-- What an account (an address on a chain) has used. It outlives its relayer. `next_nonce` goes back only when the highest nonce, never
-- signed, is returned. `genesis_hash` tells a chain that began anew from the one the nonces were used on.
CREATE TABLE accounts (
  chain_id       INTEGER NOT NULL,
  address        TEXT NOT NULL,
  next_nonce     INTEGER NOT NULL CHECK (next_nonce >= 0),
  genesis_hash   TEXT,
  -- Every nonce below was used on the chain by transactions that this database does not hold, as signed bytes prove: the counter is
  -- never lowered below it.
  used_below     INTEGER NOT NULL DEFAULT 0,
  reserved       TEXT NOT NULL DEFAULT '0',
  -- The sum of all that was ever taken out of `reserved`: a balance that was read before may be smaller by the difference since.
  released       TEXT NOT NULL DEFAULT '0',
  -- The last transaction of the account that the chain or a node has and this service did not send.
  foreign_nonce  INTEGER,
  foreign_hash   TEXT,
  -- The block that has it, as most nodes said. Null: not known to be in one.
  foreign_block  INTEGER,
  foreign_at     TEXT,
  -- An operator knows of it.
  foreign_acknowledged INTEGER NOT NULL DEFAULT 0 CHECK (foreign_acknowledged IN (0, 1)),
  -- The account's count on chain when it was last compared with this database.
  compared_count INTEGER,
  PRIMARY KEY (chain_id, address)
) STRICT, WITHOUT ROWID;

-- What an account, or another holder of limits (`Spend` in domain/transaction-rows.ts), has spent of its limits per day, in steps of time:
-- `bucket` counts them from the epoch, `asset` is `wei` or a token's address, `amount` is decimal. It outlives its relayer, or a new one would begin with a new day.
CREATE TABLE spending (
  chain_id INTEGER NOT NULL,
  address  TEXT NOT NULL,
  asset    TEXT NOT NULL,
  bucket   INTEGER NOT NULL,
  amount   TEXT NOT NULL,
  PRIMARY KEY (chain_id, address, asset, bucket)
) STRICT, WITHOUT ROWID;

-- Transactions of an account that this database does not know: another copy of it may have sent them. Without a hash: not found yet.
CREATE TABLE external_transactions (
  chain_id   INTEGER NOT NULL,
  address    TEXT NOT NULL,
  nonce      INTEGER NOT NULL,
  noticed_at TEXT NOT NULL,
  hash       TEXT,
  "to"       TEXT,
  value      TEXT,
  data_hash  TEXT,
  PRIMARY KEY (chain_id, address, nonce)
) STRICT, WITHOUT ROWID;

-- The data of a transaction, apart from its row: a row is read and written many times, its data hardly ever.
CREATE TABLE transaction_data (
  row_id INTEGER PRIMARY KEY,
  data   BLOB NOT NULL
) STRICT;

-- `sequence` counts the transactions of a relayer without gaps: a page is a range of it, and a count is its end less its start. A nonce
-- of an account belongs to one transaction only, whichever relayer made it. Columns of JSON have no CHECK: a check of one column costs
-- every write of the row.
CREATE TABLE transactions (
  row_id                   INTEGER PRIMARY KEY,
  id                       TEXT NOT NULL UNIQUE,
  relayer_row_id           INTEGER NOT NULL,
  relayer_id               TEXT NOT NULL,
  -- The pool that it was sent through: the right to a pool is one to these, and to nothing else of its relayers.
  pool_row_id              INTEGER REFERENCES pool_ids (row_id),
  pool_id                  TEXT,
  sequence                 INTEGER NOT NULL CHECK (sequence > 0),
  -- Who asked for it, as in the audit trail.
  caller                   TEXT NOT NULL,
  -- The reference, names and values that the caller gave it; metadata is JSON.
  reference                TEXT,
  deduplication_id         TEXT,
  ordering_key             TEXT,
  metadata                 TEXT,
  chain_id                 INTEGER NOT NULL,
  network                  TEXT NOT NULL,
  -- The form (EIP-2718).
  type                     INTEGER NOT NULL CHECK (type IN (0, 1, 2, 4)),
  hash                     TEXT,
  "from"                   TEXT NOT NULL,
  "to"                     TEXT,
  value                    TEXT NOT NULL,
  data_bytes               INTEGER NOT NULL DEFAULT 0,
  data_row_id              INTEGER REFERENCES transaction_data (row_id),
  -- The access list (EIP-2930) and the authorizations (EIP-7702), as JSON; NULL: none.
  access_list              TEXT,
  authorization_list       TEXT,
  -- The decoded call that reads show, as JSON, so that they decode no bytes; and fragments of human-readable ABI of a call by name.
  call                     TEXT,
  fragments                TEXT,
  nonce                    INTEGER,
  gas_limit                INTEGER,
  -- Whether the request gave the gas limit.
  gas_is_given             INTEGER NOT NULL DEFAULT 0 CHECK (gas_is_given IN (0, 1)),
  gas_price                TEXT,
  max_fee_per_gas          TEXT,
  max_priority_fee_per_gas TEXT,
  -- The prices that the request gave: repricing never exceeds them. NULL: the service chooses.
  fee_ceiling              TEXT,
  tip_ceiling              TEXT,
  speed                    TEXT CHECK (speed IN ('safe_low', 'average', 'fast', 'fastest')),
  -- Whether the value is all that the highest fee leaves.
  is_sweep                 INTEGER NOT NULL DEFAULT 0 CHECK (is_sweep IN (0, 1)),
  -- What a rollup charges besides the gas, in wei, by the estimate at the acceptance; NULL: nothing.
  data_fee                 TEXT,
  valid_until              TEXT,
  -- How it reaches the chain (JSON, domain/submission.ts); NULL: publicly, from the beginning.
  submission               TEXT,
  -- How it counts for a sponsorship, as JSON, and the key that only one unfinished transaction of the chain may have.
  sponsored                TEXT,
  exclusive_key            TEXT,
  -- The caller asked to replace what another sender put into the mempool at this nonce.
  replaces_external        INTEGER NOT NULL DEFAULT 0 CHECK (replaces_external IN (0, 1)),
  replacements             INTEGER NOT NULL DEFAULT 0 CHECK (replacements >= 0),
  status                   TEXT NOT NULL CHECK (status IN ('pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'canceled', 'expired')),
  status_reason            TEXT,
  -- Why it reverted or failed (JSON).
  error                    TEXT,
  -- Why it makes no progress, as a code and as a sentence; NULL while it does. `waits_told`: the codes that an event reported, as JSON.
  wait_reason              TEXT,
  wait_text                TEXT,
  waits_told               TEXT NOT NULL DEFAULT '[]',
  -- The transaction that another relayer of the pool sends in its place.
  moved_to_transaction_id  TEXT,
  -- How it shall end.
  intent                   TEXT NOT NULL DEFAULT 'send' CHECK (intent IN ('send', 'cancel', 'expire', 'fail')),
  -- The bytes that were signed last are not what is wanted now.
  resign                   INTEGER NOT NULL DEFAULT 0 CHECK (resign IN (0, 1)),
  -- Grows with each change; every change compares it first.
  revision                 INTEGER NOT NULL DEFAULT 0,
  reprice_at               INTEGER NOT NULL DEFAULT 0,
  signature                TEXT CHECK (signature IS NULL OR json_valid(signature)),
  -- The block in which it was last seen.
  block_number             INTEGER,
  block_hash               TEXT,
  -- The receipt of that block, as the contract shows it (JSON). A receipt of another block is out of date.
  receipt                  TEXT,
  -- The most wei that it can still cost while it is unfinished and in no block (its value, and its gas at the highest price); else
  -- NULL. `accounts.reserved` is the sum for the account, which a query cannot build: amounts exceed 64 bits.
  reserved                 TEXT,
  -- What of `spending` is its own, as JSON.
  spent                    TEXT,
  -- What a call of the token of the coin takes from the balance besides the value, in wei; NULL: nothing.
  coin_spent               TEXT,
  created_at               TEXT NOT NULL,
  sent_at                  TEXT,
  confirmed_at             TEXT,
  -- What callers and reorganizations changed of it, as JSON (domain/transaction-rows.ts); NULL: nothing.
  history                  TEXT,
  -- When the status or the reason to wait last changed.
  changed_at               TEXT NOT NULL,
  UNIQUE (relayer_row_id, sequence),
  UNIQUE (chain_id, "from", nonce)
) STRICT;
-- The searches of a pool's transactions, which read none that its relayers sent directly. They come before the indexes of relayers, because
-- SQLite takes the first of two with the same estimated cost.
CREATE INDEX transactions_of_pool_by_id ON transactions (pool_row_id, id) WHERE pool_row_id IS NOT NULL;
CREATE INDEX transactions_of_pool_by_receiver ON transactions (pool_row_id, relayer_row_id, "to", sequence)
  WHERE pool_row_id IS NOT NULL AND "to" IS NOT NULL;
CREATE INDEX transactions_of_pool_by_reference ON transactions (pool_row_id, relayer_row_id, reference, sequence)
  WHERE pool_row_id IS NOT NULL AND reference IS NOT NULL;
CREATE INDEX transactions_pending ON transactions (relayer_row_id, nonce) WHERE status = 'pending';
CREATE INDEX transactions_flying ON transactions (relayer_row_id, nonce) WHERE status IN ('sent', 'submitted');
CREATE INDEX transactions_mined ON transactions (relayer_row_id, block_number) WHERE status = 'mined';
CREATE INDEX transactions_by_status ON transactions (relayer_row_id, status, sequence);
CREATE INDEX transactions_by_reference ON transactions (relayer_row_id, reference, sequence) WHERE reference IS NOT NULL;
CREATE INDEX transactions_by_receiver ON transactions (relayer_row_id, "to", sequence) WHERE "to" IS NOT NULL;
CREATE INDEX transactions_by_data ON transactions (data_row_id) WHERE data_row_id IS NOT NULL;
CREATE INDEX transactions_by_exclusive_key ON transactions (exclusive_key)
  WHERE exclusive_key IS NOT NULL AND status IN ('pending', 'sent', 'submitted');
-- Calls that are not final, by age: what is still to be paid counts for a budget, however old it is.
CREATE INDEX transactions_open_sponsored ON transactions (chain_id, created_at)
  WHERE sponsored IS NOT NULL AND status IN ('pending', 'sent', 'submitted', 'mined');
CREATE INDEX transactions_by_pool ON transactions (pool_row_id, relayer_row_id, sequence) WHERE pool_row_id IS NOT NULL;

-- All bytes that were ever signed for a transaction, durable before a node sees them.
CREATE TABLE attempts (
  transaction_row_id       INTEGER NOT NULL REFERENCES transactions (row_id),
  number                   INTEGER NOT NULL CHECK (number > 0),
  purpose                  TEXT NOT NULL CHECK (purpose IN ('send', 'cancel')),
  hash                     TEXT NOT NULL,
  raw                      BLOB NOT NULL,
  gas_price                TEXT,
  max_fee_per_gas          TEXT,
  max_priority_fee_per_gas TEXT,
  created_at               TEXT NOT NULL,
  nonce                    INTEGER NOT NULL,
  -- Since when a node is known to have these bytes. NULL: no node is known to, and a replacement need not pay 10 % more.
  taken_at                 TEXT,
  -- The last reason for which a node refused them.
  refusal_message          TEXT,
  gas_limit                INTEGER NOT NULL,
  refusal_kind             TEXT,
  -- What reads show of the bytes, so that they decode none.
  content_hash             TEXT NOT NULL,
  sig                      TEXT NOT NULL,
  PRIMARY KEY (transaction_row_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_by_hash ON attempts (hash);

-- The first answer to an Idempotency-Key, kept as long as its transaction.
CREATE TABLE idempotency (
  caller             TEXT NOT NULL,
  relayer_row_id     INTEGER NOT NULL,
  idempotency_key    TEXT NOT NULL,
  body_hash          TEXT NOT NULL,
  transaction_row_id INTEGER NOT NULL REFERENCES transactions (row_id),
  answer             TEXT NOT NULL,
  data_row_id        INTEGER REFERENCES transaction_data (row_id),
  PRIMARY KEY (caller, relayer_row_id, idempotency_key)
) STRICT, WITHOUT ROWID;
-- Rows that are removed with their transaction are found by it.
CREATE INDEX idempotency_by_transaction ON idempotency (transaction_row_id);
CREATE INDEX idempotency_by_data ON idempotency (data_row_id) WHERE data_row_id IS NOT NULL;

-- The transaction that has an id that the caller gave it. Every relayer of the chain is refused a second one.
CREATE TABLE deduplication_ids (
  chain_id           INTEGER NOT NULL,
  deduplication_id   TEXT NOT NULL,
  transaction_row_id INTEGER NOT NULL REFERENCES transactions (row_id),
  PRIMARY KEY (chain_id, deduplication_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deduplication_ids_by_transaction ON deduplication_ids (transaction_row_id);

-- The search of `transactions.metadata`.
CREATE TABLE transaction_metadata (
  relayer_row_id     INTEGER NOT NULL,
  name               TEXT NOT NULL,
  value              TEXT NOT NULL,
  sequence           INTEGER NOT NULL,
  transaction_row_id INTEGER NOT NULL,
  pool_row_id        INTEGER,
  PRIMARY KEY (transaction_row_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX transactions_by_metadata ON transaction_metadata (relayer_row_id, name, value, sequence);
CREATE INDEX transactions_of_pool_by_metadata ON transaction_metadata (pool_row_id, relayer_row_id, name, value, sequence)
  WHERE pool_row_id IS NOT NULL;

-- The transactions that were sent through a pool with an ordering key.
CREATE TABLE pool_orders (
  transaction_row_id INTEGER PRIMARY KEY REFERENCES transactions (row_id),
  pool_row_id        INTEGER NOT NULL REFERENCES pool_ids (row_id),
  ordering_key       TEXT NOT NULL
) STRICT;
CREATE INDEX pool_orders_by_key ON pool_orders (pool_row_id, ordering_key, transaction_row_id);

-- Each refill, accepted in one database transaction with its transaction, whose row says whether it is open. `treasury_row_id` may be of
-- a relayer that was deleted.
CREATE TABLE refills (
  row_id          INTEGER PRIMARY KEY AUTOINCREMENT,
  relayer_row_id  INTEGER NOT NULL REFERENCES relayers (row_id) ON DELETE CASCADE,
  treasury_row_id INTEGER NOT NULL,
  treasury_id     TEXT NOT NULL,
  asset           TEXT NOT NULL,
  amount          TEXT NOT NULL,
  transaction_id  TEXT,
  created_at      TEXT NOT NULL
) STRICT;
CREATE INDEX refills_by_relayer ON refills (relayer_row_id, row_id);

-- Payments that callers had signed under names of their own, until they expire: each is counted once, however often it is asked for.
-- `nonce`: of the authorization, made of the caller and the name. `spent`: what limits count for it.
CREATE TABLE signed_payments (
  chain_id     INTEGER NOT NULL,
  address      TEXT NOT NULL,
  nonce        TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  valid_before INTEGER NOT NULL,
  spent        TEXT,
  PRIMARY KEY (chain_id, address, nonce)
) STRICT, WITHOUT ROWID;
CREATE INDEX signed_payments_by_end ON signed_payments (chain_id, address, valid_before);

-- Payments, each accepted in one commit with its transaction. `id`: the digest of the payload. The outcome is written once, when it is
-- proven; `hash` may be that of somebody else's transaction.
CREATE TABLE payments (
  row_id             INTEGER PRIMARY KEY AUTOINCREMENT,
  facilitator_row_id INTEGER NOT NULL,
  facilitator_id     TEXT NOT NULL,
  network            TEXT NOT NULL,
  id                 TEXT NOT NULL,
  relayer_row_id     INTEGER NOT NULL,
  relayer_id         TEXT NOT NULL,
  transaction_id     TEXT NOT NULL,
  asset              TEXT NOT NULL,
  payer              TEXT NOT NULL,
  pay_to             TEXT NOT NULL,
  amount             TEXT NOT NULL,
  nonce              TEXT NOT NULL,
  valid_before       TEXT NOT NULL,
  status             TEXT NOT NULL CHECK (status IN ('pending', 'settled', 'failed')),
  hash               TEXT,
  error_reason       TEXT,
  created_at         TEXT NOT NULL,
  UNIQUE (facilitator_row_id, id)
) STRICT;
CREATE INDEX payments_open ON payments (facilitator_row_id, row_id) WHERE status = 'pending';
CREATE INDEX payments_by_facilitator ON payments (facilitator_row_id, row_id);
CREATE INDEX payments_by_transaction ON payments (transaction_id);

-- Whether a funded relayer has enough. It changes with the state only.
CREATE TABLE funding_states (
  relayer_row_id INTEGER PRIMARY KEY REFERENCES relayers (row_id) ON DELETE CASCADE,
  status         TEXT NOT NULL,
  status_reason  TEXT,
  since          TEXT NOT NULL
) STRICT;

-- What happened, in the order of its commits, a sequence a relayer; written in the transaction of the change itself. `body` is what every
-- delivery carries, to the byte; `subject` is whose events are delivered one after the other.
CREATE TABLE events (
  row_id         INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  relayer_row_id INTEGER NOT NULL,
  sequence       INTEGER NOT NULL CHECK (sequence > 0),
  event          TEXT NOT NULL,
  subject        TEXT NOT NULL,
  body           TEXT NOT NULL CHECK (json_valid(body)),
  created_at     TEXT NOT NULL,
  data_row_id    INTEGER REFERENCES transaction_data (row_id),
  -- In the body too: stored bytes are not parsed on a read.
  transaction_status TEXT,
  UNIQUE (relayer_row_id, sequence)
) STRICT;
CREATE INDEX events_by_data ON events (data_row_id) WHERE data_row_id IS NOT NULL;

-- The outbox: written with the event, and emptied by the deliverer.
CREATE TABLE deliveries (
  row_id              INTEGER PRIMARY KEY,
  id                  TEXT NOT NULL UNIQUE,
  notification_row_id INTEGER NOT NULL,
  event_row_id        INTEGER NOT NULL REFERENCES events (row_id),
  subject             TEXT NOT NULL,
  status              TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
  failures            INTEGER NOT NULL DEFAULT 0,
  next_at             INTEGER NOT NULL,
  created_at          TEXT NOT NULL
) STRICT;
CREATE INDEX deliveries_due ON deliveries (notification_row_id, next_at) WHERE status = 'pending';
CREATE INDEX deliveries_in_order ON deliveries (notification_row_id, subject, row_id) WHERE status = 'pending';
CREATE INDEX deliveries_of ON deliveries (notification_row_id, status, row_id);
CREATE INDEX deliveries_by_event ON deliveries (event_row_id);

-- The tries of a delivery, with what the receiver answered.
CREATE TABLE delivery_attempts (
  delivery_row_id INTEGER NOT NULL REFERENCES deliveries (row_id),
  number          INTEGER NOT NULL CHECK (number > 0),
  attempted_at    TEXT NOT NULL,
  duration_ms     INTEGER NOT NULL,
  http_status     INTEGER,
  error_message   TEXT,
  response_body   TEXT,
  PRIMARY KEY (delivery_row_id, number)
) STRICT, WITHOUT ROWID;

-- A change of many deliveries, done in lots; each lot and how far it went are one database transaction, so that a process that ends in
-- between loses and repeats nothing. `redeliver`: failed ones from `since` on are pending again. `give_up`: pending ones have failed,
-- since their notification is disabled. `remove`: their notification was deleted. Deliveries with keys above `up_to` came later and are
-- not meant.
CREATE TABLE bulk_changes (
  row_id              INTEGER PRIMARY KEY,
  kind                TEXT NOT NULL CHECK (kind IN ('redeliver', 'retry', 'give_up', 'remove')),
  notification_row_id INTEGER NOT NULL,
  since               TEXT NOT NULL,
  done_to             INTEGER NOT NULL,
  up_to               INTEGER NOT NULL,
  UNIQUE (kind, notification_row_id)
) STRICT;

-- Who did what, in lots: whatever is committed together. Entries are numbered from 1 without gaps, and the hash of a lot is SHA-256 over
-- that of the lot before and its entries (store/sqlite/audit.ts). An entry of its own row would cost a signature three times as much.
CREATE TABLE audit (
  -- The number of its last entry, and of its first.
  up_to   INTEGER PRIMARY KEY,
  first   INTEGER NOT NULL CHECK (first <= up_to),
  -- JSON: an array of entries, each an array: number, milliseconds of the epoch, caller, operation, relayer's id, subject, HTTP status,
  -- request's id.
  entries TEXT NOT NULL,
  hash    BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- In place of the oldest entries of the audit trail that were removed by their age: the number and the hash of the last of them. The only
-- chain of SQLite is 0 here, which it is after a move to PostgreSQL.
CREATE TABLE audit_checkpoints (
  chain INTEGER PRIMARY KEY,
  up_to INTEGER NOT NULL,
  hash  BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- The names of API keys that were revoked: what they did is still shown.
CREATE TABLE former_api_keys (
  id   TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a rule of a resource refused since its last change, and that change; as the audit trail counts it. Times: milliseconds of the epoch.
CREATE TABLE refusals (
  resource        TEXT NOT NULL CHECK (resource IN ('relayer', 'pool', 'sponsorship')),
  id              TEXT NOT NULL,
  rule            TEXT NOT NULL,
  count           INTEGER NOT NULL CHECK (count > 0),
  since           INTEGER NOT NULL,
  last_at         INTEGER NOT NULL,
  -- Of the last one.
  caller          TEXT NOT NULL,
  reason          TEXT NOT NULL,
  -- Those until then are acknowledged.
  acknowledged_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (resource, id, rule)
) STRICT, WITHOUT ROWID;
CREATE TABLE rule_changes (
  resource TEXT NOT NULL,
  id       TEXT NOT NULL,
  caller   TEXT NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (resource, id)
) STRICT, WITHOUT ROWID;

-- Who deals with a problem, until when.
CREATE TABLE acknowledgements (
  problem_id TEXT NOT NULL PRIMARY KEY,
  caller     TEXT NOT NULL,
  at         TEXT NOT NULL,
  until      TEXT NOT NULL,
  note       TEXT
) STRICT, WITHOUT ROWID;

-- Changes of state that an operator should know, as each server noticed them. `at`: milliseconds since the Unix epoch. The newest are
-- kept.
CREATE TABLE incidents (
  row_id   INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  server   TEXT NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('error', 'warning', 'over')),
  subject  TEXT NOT NULL,
  text     TEXT NOT NULL
) STRICT;

-- Counts of transactions per block of sequence numbers, so that totals and deep pages of a filtered list cost a bounded number of rows.
-- Level 0 counts blocks of 1,000 sequence numbers, level 1 blocks of 1,000,000. Triggers keep the counts in the database transaction of
-- each change. `unfinished` are `pending`, `sent`, `submitted` and `mined` together: single counts would be written with every step of a
-- transaction. `oldest` and `newest` bound `created_at`, which is not always in the order of `sequence`: the clock may be set back.
-- `unfinished_bytes` is the size of the data of the unfinished.
CREATE TABLE transaction_blocks (
  relayer_row_id   INTEGER NOT NULL,
  level            INTEGER NOT NULL CHECK (level IN (0, 1)),
  block            INTEGER NOT NULL,
  oldest           TEXT NOT NULL,
  newest           TEXT NOT NULL,
  unfinished       INTEGER NOT NULL,
  confirmed        INTEGER NOT NULL,
  failed           INTEGER NOT NULL,
  canceled         INTEGER NOT NULL,
  expired          INTEGER NOT NULL,
  unfinished_bytes INTEGER NOT NULL,
  PRIMARY KEY (relayer_row_id, level, block)
) STRICT, WITHOUT ROWID;

-- Counts per block of sequence numbers, as transaction_blocks, of what each relayer took for a pool.
CREATE TABLE pool_blocks (
  pool_row_id    INTEGER NOT NULL,
  relayer_row_id INTEGER NOT NULL,
  level          INTEGER NOT NULL CHECK (level IN (0, 1)),
  block          INTEGER NOT NULL,
  oldest         TEXT NOT NULL,
  newest         TEXT NOT NULL,
  unfinished     INTEGER NOT NULL,
  confirmed      INTEGER NOT NULL,
  failed         INTEGER NOT NULL,
  canceled       INTEGER NOT NULL,
  expired        INTEGER NOT NULL,
  PRIMARY KEY (pool_row_id, relayer_row_id, level, block)
) STRICT, WITHOUT ROWID;

-- The same for the deliveries to a notification. Their numbers are the keys, which all notifications share.
CREATE TABLE delivery_blocks (
  notification_row_id INTEGER NOT NULL,
  level               INTEGER NOT NULL CHECK (level IN (0, 1)),
  block               INTEGER NOT NULL,
  oldest              TEXT NOT NULL,
  newest              TEXT NOT NULL,
  pending             INTEGER NOT NULL,
  delivered           INTEGER NOT NULL,
  failed              INTEGER NOT NULL,
  PRIMARY KEY (notification_row_id, level, block)
) STRICT, WITHOUT ROWID;

-- Counts per relayer and period, kept by triggers in the database transaction of each change: a chart reads these rows and never the
-- transactions. `period_s`: a minute for charts of an hour, 15 minutes for charts of a day. `at`: the start of the period, in seconds
-- since the Unix epoch. Fees, and the values that left the account, are in gwei and in the rest in wei, each below the limit of an integer:
-- a fee that a node made up is cut at 9 million ether.
CREATE TABLE activity (
  period_s         INTEGER NOT NULL CHECK (period_s IN (60, 900)),
  at               INTEGER NOT NULL,
  relayer_row_id   INTEGER NOT NULL,
  accepted         INTEGER NOT NULL DEFAULT 0,
  mined            INTEGER NOT NULL DEFAULT 0,
  failed           INTEGER NOT NULL DEFAULT 0,
  inclusion_ms     INTEGER NOT NULL DEFAULT 0,
  max_inclusion_ms INTEGER NOT NULL DEFAULT 0,
  fee_gwei         INTEGER NOT NULL DEFAULT 0,
  fee_wei          INTEGER NOT NULL DEFAULT 0,
  value_gwei       INTEGER NOT NULL DEFAULT 0,
  value_wei        INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (period_s, at, relayer_row_id)
) STRICT, WITHOUT ROWID;

-- Counts per relayer and day, for longer charts and for what was spent. The quarters of an hour that are removed from `activity` are
-- added here; those that are still there are not in it. `at`: the start of the day in UTC, in seconds since the Unix epoch.
CREATE TABLE activity_days (
  at               INTEGER NOT NULL,
  relayer_row_id   INTEGER NOT NULL,
  accepted         INTEGER NOT NULL DEFAULT 0,
  mined            INTEGER NOT NULL DEFAULT 0,
  failed           INTEGER NOT NULL DEFAULT 0,
  inclusion_ms     INTEGER NOT NULL DEFAULT 0,
  max_inclusion_ms INTEGER NOT NULL DEFAULT 0,
  fee_gwei         INTEGER NOT NULL DEFAULT 0,
  fee_wei          INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (at, relayer_row_id)
) STRICT, WITHOUT ROWID;

-- Fees per caller, relayer and day, kept by a trigger in the database transaction of each change. `repriced`: transactions that got into
-- a block with a later version than the first; `repricing_gwei`: what they paid above what the first version would have paid in the same
-- block. `at` and fees: as in activity_days.
CREATE TABLE caller_days (
  at             INTEGER NOT NULL,
  relayer_row_id INTEGER NOT NULL,
  caller         TEXT NOT NULL,
  mined          INTEGER NOT NULL,
  fee_gwei       INTEGER NOT NULL,
  fee_wei        INTEGER NOT NULL,
  repriced       INTEGER NOT NULL,
  repricing_gwei REAL NOT NULL,
  PRIMARY KEY (at, relayer_row_id, caller)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER transaction_inserted AFTER INSERT ON transactions BEGIN
  INSERT INTO transaction_blocks
  SELECT new.relayer_row_id, level, new.sequence / size, new.created_at, new.created_at,
    new.status IN ('pending', 'sent', 'submitted', 'mined'), new.status = 'confirmed', new.status = 'failed',
    new.status = 'canceled', new.status = 'expired',
    iif(new.status IN ('pending', 'sent', 'submitted', 'mined'), new.data_bytes, 0)
  FROM (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000) WHERE true
  ON CONFLICT DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest),
    unfinished = unfinished + excluded.unfinished, confirmed = confirmed + excluded.confirmed,
    failed = failed + excluded.failed, canceled = canceled + excluded.canceled, expired = expired + excluded.expired,
    unfinished_bytes = unfinished_bytes + excluded.unfinished_bytes;
END;

-- Steps from one unfinished status to another change no count.
CREATE TRIGGER transaction_changed AFTER UPDATE OF status, data_bytes ON transactions
WHEN new.data_bytes <> old.data_bytes OR new.status <> old.status AND (
  new.status IN ('confirmed', 'failed', 'canceled', 'expired') OR old.status IN ('confirmed', 'failed', 'canceled', 'expired')
) BEGIN
  UPDATE transaction_blocks SET
    unfinished = unfinished + (new.status IN ('pending', 'sent', 'submitted', 'mined')) - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed + (new.status = 'confirmed') - (old.status = 'confirmed'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed'),
    canceled = canceled + (new.status = 'canceled') - (old.status = 'canceled'),
    expired = expired + (new.status = 'expired') - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes + iif(new.status IN ('pending', 'sent', 'submitted', 'mined'), new.data_bytes, 0)
      - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_row_id = new.relayer_row_id AND level = 0 AND block = new.sequence / 1000;
  UPDATE transaction_blocks SET
    unfinished = unfinished + (new.status IN ('pending', 'sent', 'submitted', 'mined')) - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed + (new.status = 'confirmed') - (old.status = 'confirmed'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed'),
    canceled = canceled + (new.status = 'canceled') - (old.status = 'canceled'),
    expired = expired + (new.status = 'expired') - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes + iif(new.status IN ('pending', 'sent', 'submitted', 'mined'), new.data_bytes, 0)
      - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_row_id = new.relayer_row_id AND level = 1 AND block = new.sequence / 1000000;
END;

-- Retention removes transactions that have ended, from the oldest on.
CREATE TRIGGER transaction_removed AFTER DELETE ON transactions BEGIN
  UPDATE transaction_blocks SET
    unfinished = unfinished - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed - (old.status = 'confirmed'),
    failed = failed - (old.status = 'failed'),
    canceled = canceled - (old.status = 'canceled'),
    expired = expired - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_row_id = old.relayer_row_id AND level = 0 AND block = old.sequence / 1000;
  UPDATE transaction_blocks SET
    unfinished = unfinished - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed - (old.status = 'confirmed'),
    failed = failed - (old.status = 'failed'),
    canceled = canceled - (old.status = 'canceled'),
    expired = expired - (old.status = 'expired'),
    unfinished_bytes = unfinished_bytes - iif(old.status IN ('pending', 'sent', 'submitted', 'mined'), old.data_bytes, 0)
  WHERE relayer_row_id = old.relayer_row_id AND level = 1 AND block = old.sequence / 1000000;
  DELETE FROM transaction_blocks
  WHERE relayer_row_id = old.relayer_row_id AND unfinished + confirmed + failed + canceled + expired = 0
    AND (level, block) IN (VALUES (0, old.sequence / 1000), (1, old.sequence / 1000000));
END;

CREATE TRIGGER delivery_inserted AFTER INSERT ON deliveries BEGIN
  INSERT INTO delivery_blocks
  SELECT new.notification_row_id, level, new.row_id / size, new.created_at, new.created_at,
    new.status = 'pending', new.status = 'delivered', new.status = 'failed'
  FROM (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000) WHERE true
  ON CONFLICT DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest),
    pending = pending + excluded.pending, delivered = delivered + excluded.delivered, failed = failed + excluded.failed;
END;

CREATE TRIGGER delivery_changed AFTER UPDATE OF status ON deliveries WHEN new.status <> old.status BEGIN
  UPDATE delivery_blocks SET
    pending = pending + (new.status = 'pending') - (old.status = 'pending'),
    delivered = delivered + (new.status = 'delivered') - (old.status = 'delivered'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed')
  WHERE notification_row_id = new.notification_row_id AND level = 0 AND block = new.row_id / 1000;
  UPDATE delivery_blocks SET
    pending = pending + (new.status = 'pending') - (old.status = 'pending'),
    delivered = delivered + (new.status = 'delivered') - (old.status = 'delivered'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed')
  WHERE notification_row_id = new.notification_row_id AND level = 1 AND block = new.row_id / 1000000;
END;

CREATE TRIGGER delivery_removed AFTER DELETE ON deliveries BEGIN
  UPDATE delivery_blocks SET
    pending = pending - (old.status = 'pending'),
    delivered = delivered - (old.status = 'delivered'),
    failed = failed - (old.status = 'failed')
  WHERE notification_row_id = old.notification_row_id AND level = 0 AND block = old.row_id / 1000;
  UPDATE delivery_blocks SET
    pending = pending - (old.status = 'pending'),
    delivered = delivered - (old.status = 'delivered'),
    failed = failed - (old.status = 'failed')
  WHERE notification_row_id = old.notification_row_id AND level = 1 AND block = old.row_id / 1000000;
  DELETE FROM delivery_blocks WHERE notification_row_id = old.notification_row_id AND pending + delivered + failed = 0
    AND (level, block) IN (VALUES (0, old.row_id / 1000), (1, old.row_id / 1000000));
END;

-- A version that nothing names any more is deleted.
CREATE TRIGGER transaction_data_replaced AFTER UPDATE OF data_row_id ON transactions
WHEN old.data_row_id IS NOT NULL AND new.data_row_id IS NOT old.data_row_id BEGIN
  DELETE FROM transaction_data WHERE row_id = old.data_row_id
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_row_id = old.data_row_id);
END;

CREATE TRIGGER transaction_with_data_deleted AFTER DELETE ON transactions WHEN old.data_row_id IS NOT NULL BEGIN
  DELETE FROM transaction_data WHERE row_id = old.data_row_id
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_row_id = old.data_row_id);
END;

CREATE TRIGGER event_with_data_deleted AFTER DELETE ON events WHEN old.data_row_id IS NOT NULL BEGIN
  DELETE FROM transaction_data WHERE row_id = old.data_row_id
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_row_id = old.data_row_id);
END;

CREATE TRIGGER idempotency_with_data_deleted AFTER DELETE ON idempotency WHEN old.data_row_id IS NOT NULL BEGIN
  DELETE FROM transaction_data WHERE row_id = old.data_row_id
    AND NOT EXISTS (SELECT 1 FROM transactions WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM events WHERE data_row_id = old.data_row_id)
    AND NOT EXISTS (SELECT 1 FROM idempotency WHERE data_row_id = old.data_row_id);
END;

CREATE TRIGGER activity_of_acceptance AFTER INSERT ON transactions BEGIN
  INSERT INTO activity (period_s, at, relayer_row_id, accepted)
  VALUES (60, unixepoch(new.created_at) / 60 * 60, new.relayer_row_id, 1),
    (900, unixepoch(new.created_at) / 900 * 900, new.relayer_row_id, 1)
  ON CONFLICT DO UPDATE SET accepted = accepted + 1;
END;

-- A transaction that a cancellation replaced is not counted as mined; the fee of the cancellation is counted. A value leaves also when
-- the call had no effect (`not_delegated`), but not when it reverted.
CREATE TRIGGER activity_of_block AFTER UPDATE OF status ON transactions
WHEN old.status IN ('pending', 'sent', 'submitted') AND new.status NOT IN ('pending', 'sent', 'submitted')
  AND new.receipt IS NOT NULL AND new.changed_at IS NOT NULL BEGIN
  INSERT INTO activity (period_s, at, relayer_row_id, mined, inclusion_ms, max_inclusion_ms, fee_gwei, fee_wei, value_gwei, value_wei)
  SELECT period_s, unixepoch(new.changed_at) / period_s * period_s, new.relayer_row_id, is_sent, is_sent * waited_ms, is_sent * waited_ms,
    min(CAST(substr(fee, 1, length(fee) - 9) AS INTEGER), 9000000000000000), CAST(substr(fee, -9) AS INTEGER),
    min(has_left * CAST(substr(value, 1, length(value) - 9) AS INTEGER), 9000000000000000), has_left * CAST(substr(value, -9) AS INTEGER)
  FROM (SELECT 60 AS period_s UNION ALL SELECT 900), (
    SELECT new.intent = 'send' AS is_sent, coalesce(new.receipt ->> 'fee', '0') AS fee, new.value AS value,
      new.intent = 'send' AND coalesce(new.error ->> 'code', '') NOT IN ('reverted', 'out_of_gas') AND new."to" IS NOT new."from" AS has_left,
      max(CAST(round((unixepoch(new.changed_at, 'subsec') - unixepoch(new.created_at, 'subsec')) * 1000) AS INTEGER), 0) AS waited_ms
  ) WHERE true
  ON CONFLICT DO UPDATE SET mined = mined + excluded.mined, inclusion_ms = inclusion_ms + excluded.inclusion_ms,
    max_inclusion_ms = max(max_inclusion_ms, excluded.max_inclusion_ms),
    fee_gwei = min(fee_gwei + excluded.fee_gwei, 9000000000000000), fee_wei = fee_wei + excluded.fee_wei,
    value_gwei = min(value_gwei + excluded.value_gwei, 9000000000000000), value_wei = value_wei + excluded.value_wei;
END;

CREATE TRIGGER activity_of_failure AFTER UPDATE OF status ON transactions
WHEN old.status <> 'failed' AND new.status = 'failed' AND new.changed_at IS NOT NULL BEGIN
  INSERT INTO activity (period_s, at, relayer_row_id, failed)
  VALUES (60, unixepoch(new.changed_at) / 60 * 60, new.relayer_row_id, 1),
    (900, unixepoch(new.changed_at) / 900 * 900, new.relayer_row_id, 1)
  ON CONFLICT DO UPDATE SET failed = failed + 1;
END;

CREATE TRIGGER activity_of_days AFTER DELETE ON activity WHEN old.period_s = 900 BEGIN
  INSERT INTO activity_days (at, relayer_row_id, accepted, mined, failed, inclusion_ms, max_inclusion_ms, fee_gwei, fee_wei)
  VALUES (old.at / 86400 * 86400, old.relayer_row_id, old.accepted, old.mined, old.failed, old.inclusion_ms, old.max_inclusion_ms,
    old.fee_gwei, old.fee_wei)
  ON CONFLICT DO UPDATE SET accepted = accepted + excluded.accepted, mined = mined + excluded.mined, failed = failed + excluded.failed,
    inclusion_ms = inclusion_ms + excluded.inclusion_ms, max_inclusion_ms = max(max_inclusion_ms, excluded.max_inclusion_ms),
    fee_gwei = min(fee_gwei + excluded.fee_gwei, 9000000000000000), fee_wei = fee_wei + excluded.fee_wei;
END;

-- Each new row removes some of the rows that no chart shows any more.
CREATE TRIGGER activity_pruned AFTER INSERT ON activity WHEN new.period_s = 60 BEGIN
  DELETE FROM activity WHERE (period_s, at, relayer_row_id) IN (
    SELECT period_s, at, relayer_row_id FROM activity WHERE period_s = 60 AND at < new.at - 6000 LIMIT 4
  );
END;

-- A transaction counts while it is final and in a block: a change adds what it counts afterwards, and takes back what it counted. Prices
-- and gas are what nodes say: they are computed as REAL, which does not overflow, and cut as the fees are.
CREATE TRIGGER caller_of_end AFTER UPDATE OF status ON transactions
WHEN new.caller IS NOT NULL AND (new.status IN ('confirmed', 'failed', 'canceled', 'expired')
  OR old.status IN ('confirmed', 'failed', 'canceled', 'expired')) BEGIN
  INSERT INTO caller_days (at, relayer_row_id, caller, mined, fee_gwei, fee_wei, repriced, repricing_gwei)
  SELECT unixepoch(changed_at) / 86400 * 86400, new.relayer_row_id, new.caller, sign * (intent = 'send'),
    sign * min(CAST(substr(fee, 1, length(fee) - 9) AS INTEGER), 9000000000000000), sign * CAST(substr(fee, -9) AS INTEGER),
    sign * (first_price IS NOT NULL), sign * coalesce(min(max(price - first_price, 0) * gas_used / 1e9, 9e15), 0)
  FROM (
    SELECT its.*, CASE WHEN mined.number > 1 THEN coalesce(CAST(first.gas_price AS REAL), min(CAST(first.max_fee_per_gas AS REAL),
      price - CAST(mined.max_priority_fee_per_gas AS REAL) + CAST(first.max_priority_fee_per_gas AS REAL))) END AS first_price
    FROM (
      SELECT *, coalesce(receipt ->> 'fee', '0') AS fee, CAST(receipt ->> 'gas_used' AS REAL) AS gas_used,
        CAST(receipt ->> 'effective_gas_price' AS REAL) AS price
      FROM (
        SELECT 1 AS sign, new.status, new.block_hash, new.intent, new.hash, new.receipt, new.changed_at
        UNION ALL SELECT -1, old.status, old.block_hash, old.intent, old.hash, old.receipt, old.changed_at
      )
      WHERE status IN ('confirmed', 'failed', 'canceled', 'expired') AND block_hash IS NOT NULL AND changed_at IS NOT NULL
    ) AS its
    LEFT JOIN attempts AS first ON first.transaction_row_id = new.row_id AND first.number = 1
    LEFT JOIN attempts AS mined ON mined.transaction_row_id = new.row_id AND mined.number = (
      SELECT max(number) FROM attempts WHERE transaction_row_id = new.row_id AND hash = its.hash AND its.intent = 'send'
    )
  ) WHERE true
  ON CONFLICT DO UPDATE SET mined = mined + excluded.mined, fee_gwei = min(fee_gwei + excluded.fee_gwei, 9000000000000000),
    fee_wei = fee_wei + excluded.fee_wei, repriced = repriced + excluded.repriced,
    repricing_gwei = repricing_gwei + excluded.repricing_gwei;
END;

CREATE TRIGGER pool_transaction_inserted AFTER INSERT ON transactions WHEN new.pool_row_id IS NOT NULL BEGIN
  INSERT INTO pool_blocks
  SELECT new.pool_row_id, new.relayer_row_id, level, new.sequence / size, new.created_at, new.created_at,
    new.status IN ('pending', 'sent', 'submitted', 'mined'), new.status = 'confirmed', new.status = 'failed',
    new.status = 'canceled', new.status = 'expired'
  FROM (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000) WHERE true
  ON CONFLICT DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest),
    unfinished = unfinished + excluded.unfinished, confirmed = confirmed + excluded.confirmed,
    failed = failed + excluded.failed, canceled = canceled + excluded.canceled, expired = expired + excluded.expired;
END;

CREATE TRIGGER pool_transaction_changed AFTER UPDATE OF status ON transactions
WHEN new.pool_row_id IS NOT NULL AND new.status <> old.status AND (
  new.status IN ('confirmed', 'failed', 'canceled', 'expired') OR old.status IN ('confirmed', 'failed', 'canceled', 'expired')
) BEGIN
  UPDATE pool_blocks SET
    unfinished = unfinished + (new.status IN ('pending', 'sent', 'submitted', 'mined')) - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed + (new.status = 'confirmed') - (old.status = 'confirmed'),
    failed = failed + (new.status = 'failed') - (old.status = 'failed'),
    canceled = canceled + (new.status = 'canceled') - (old.status = 'canceled'),
    expired = expired + (new.status = 'expired') - (old.status = 'expired')
  WHERE pool_row_id = new.pool_row_id AND relayer_row_id = new.relayer_row_id
    AND (level, block) IN (VALUES (0, new.sequence / 1000), (1, new.sequence / 1000000));
END;

CREATE TRIGGER pool_transaction_removed AFTER DELETE ON transactions WHEN old.pool_row_id IS NOT NULL BEGIN
  UPDATE pool_blocks SET
    unfinished = unfinished - (old.status IN ('pending', 'sent', 'submitted', 'mined')),
    confirmed = confirmed - (old.status = 'confirmed'),
    failed = failed - (old.status = 'failed'),
    canceled = canceled - (old.status = 'canceled'),
    expired = expired - (old.status = 'expired')
  WHERE pool_row_id = old.pool_row_id AND relayer_row_id = old.relayer_row_id
    AND (level, block) IN (VALUES (0, old.sequence / 1000), (1, old.sequence / 1000000));
  DELETE FROM pool_blocks WHERE pool_row_id = old.pool_row_id AND relayer_row_id = old.relayer_row_id
    AND unfinished + confirmed + failed + canceled + expired = 0
    AND (level, block) IN (VALUES (0, old.sequence / 1000), (1, old.sequence / 1000000));
END;
