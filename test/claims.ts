// The claims of SECURITY.md, README.md and docs/, each by some words of it, and the tests that try it: the file under test/ without .ts, and
// the beginning of a title in it. A file without a title is a harness of its own (`npm run test:...`). A claim without a test warns
// of something outside the service, which no test can try.

type Claims = Record<string, string[]>

export const securityClaims: Claims = {
  'AES-256-GCM under a key derived from the master key, and each is bound to its row': [
    'secrets/vault.test: opens a sealed secret in another process with the same master key, and with no other key',
    'secrets/vault.test: opens a sealed secret for no other row',
    'secrets/vault.test: opens no sealed secret with a changed, missing or added byte',
  ],
  'The master key is not in the database, or only as a key service encrypts it. No operation returns a private key, and no log line or error contains one':
    ['secrets/planted-secrets.test: shows no secret in any response, log line, metric, span or file'],
  'no file and no setting contains the master key. The database stores it encrypted, bound to its purpose': [
    'secrets/key-encryption.test: generates a master key at the first start that only the key service can decrypt, and uses it at later starts',
  ],
  'A start fails when the key service is down, denies the call or has another key, and when the ciphertext was changed':
    [
      'secrets/key-encryption.test: fails the start with the reason when the key service is down, forbids the call or has another key, and when the ciphertext was changed',
    ],
  'A key that encrypts and does not decrypt is refused before anything is encrypted under it': [
    'secrets/key-encryption.test: rejects a key that may encrypt and not decrypt before anything is encrypted under it',
  ],
  'the database or a backup, without the permission to decrypt': [
    'secrets/key-encryption.test: fails the start with the reason when the key service is down, forbids the call or has another key, and when the ciphertext was changed',
    'key-services/master-key.keys: encrypts the master key with a key in OpenBao by an AppRole with the documented permissions, also after the key’s rotation',
  ],
  'Key files and the database are created with mode 0600, whatever the umask is': [
    'secrets/master-key.test: creates files that only the user can read at the first start, even with a lax umask',
    'secrets/master-key.test: does not use a draft or a link that somebody else made as the key file',
  ],
  'every folder up to the root and every symbolic link is checked': [
    'secrets/master-key.test: refuses in production what others can replace on the way to a file, through symbolic links, and key files',
  ],
  'Its environment has an allow list of variables': [
    'key-services/pkcs11-threads.keys: gives a module no secret of the service, and only the variables that the operator names',
  ],
  'go to signers with exactly the configured URL': [
    'keys/remote.test: sends the headers of the setting to the configured URL only, and to no other path of its host',
  ],
  'released when it was certainly not signed': [
    'keys/unsigned-limits.test: counts a transaction against a daily limit only if it may have been signed',
  ],
  'records the reservation (result 102) and the result of the signature apart': [
    'keys/unsigned-limits.test: records the reservation and the result of a signature apart, with the id of the key service',
  ],
  'answers of webhooks are replaced where they enter': [
    'printable.test: shows no control or format character of a node, a key service or a receiver in answers, logs and the terminal',
  ],
  'The log escapes them, also C1': [
    'printable.test: replaces control and format characters in texts, and escapes them',
  ],
  'The command line prints all text through one writer': [
    'printable.test: prints no control character of a service, as text or as JSON',
  ],
  'The service removes secrets from its environment after reading': [
    'config.test: removes the secrets that it has read from the environment',
  ],
  'After a refused PIN, no other `pin` of a caller is tried': [
    'key-services/pkcs11.keys: tries one wrong PIN of callers who may manage, in all processes together, until an administrator’s PIN is accepted',
    'store/conformance/token-logins.test: lets one of many callers try at a time',
  ],
  'process has the user of `PKCS11_USER`': [
    'key-services/pkcs11.keys: signs messages, typed data and transactions with a key in a token, and stores the PIN encrypted',
  ],
  'is in sessionStorage until its tab is closed': [],
  'In production, startup fails when another user can read or write these files': [
    'secrets/master-key.test: refuses folders that others can write to and files that others can read in production',
  ],
  'Outside production, the service logs a warning and corrects the mode of its own files': [
    'secrets/master-key.test: logs them outside production, and corrects the mode of the user’s own files',
  ],
  'no: references and credentials are encrypted': [
    'secrets/vault.test: opens a sealed secret in another process with the same master key, and with no other key',
    'secrets/planted-secrets.test: shows no secret in any response, log line, metric, span or file',
  ],
  'A row that was added or changed is refused when it is read for use': [
    'secrets/rights.test: refuses and reports a forged API key, and accepts the others',
    'secrets/rights.test: does not use a changed node of a network or a changed target of a notification',
  ],
  'A table with removed or rolled back rows is refused as a whole': [
    'secrets/rights.test: refuses an older state of one row in a running service: %s',
    'secrets/rights.test: signs nothing for the laxer relayer on an address after a database edit removed the strict one',
  ],
  'so a removal can go unnoticed for that long': ['security-claims.test: finds a removed row at the next scan'],
  'triggers or views that the service did not create': [
    'secrets/rights.test: refuses a trigger in the database at the start and at writes',
    'security-claims.test: does not start with a view that somebody else created',
  ],
  '`npm run rights -- verify` lists the rows': [
    'secrets/rights.test: names changed rows with `verify`, refuses a rotation, and accepts the rows as they are with `accept`',
  ],
  'A generated token has 256 random bits. It is stored as SHA-256': [
    'security-claims.test: its tokens have 256 random bits, and their SHA-256 is stored',
    'operations/api-keys.test: shows a token in no log line, no later response and no database file',
  ],
  'Every operation requires a token, except `health`, `ready` and the published documents': [
    'security-claims.test: requires a token in every operation except health and ready',
  ],
  'Policies, scopes and pauses are checked before the key service is called': [
    'keys/aws-kms.test: does not call the key service for a signature that a policy or a pause refuses',
  ],
  'cannot make the service send other bytes': [
    'keys/aws-kms.test: rejects a wrong signature of the key service with 503, and signs again when the key service is correct',
    'sending/key-service.test: loses nothing and sends nothing twice with a throttled key service, wrong signatures and a restart',
  ],
  'a key of the type `vault` is read into the process': [
    'keys/vault-kv.test: signs with a key in Vault, reads it once, and neither shows nor stores it or the credentials in plain text',
  ],
  'An API key is limited to its scopes': [
    'operations/api-keys.test: requires a scope for every operation, and refuses a key with another scope',
    'operations/api-keys.test: shows a limited key its relayers only, and refuses changes of shared resources',
    'operations/api-keys.test: applies a key’s own rate limit instead of the default',
  ],
  'It gets 404 for other relayers and notifications': [
    'operations/api-keys.test: answers for a relayer outside a key’s limit as for one that does not exist',
    'operations/notification-owners.test: answers 404 for another tenant',
  ],
  'A revocation applies from the next request on, in every process': [
    'operations/api-keys.test: applies a revocation by another process on the same store at once',
  ],
  'the caller is authenticated again when the body of its request is complete': [
    'http/revoked-rights.test: authenticates the caller again when the body is complete, whichever operation it is for',
  ],
  'before each member of a JSON-RPC batch and of `sign/batch`, and before each use of a key': [
    'http/revoked-rights.test: sign/batch uses the key no more after %s',
    'http/revoked-rights.test: a JSON-RPC batch uses the key no more after %s',
    'http/revoked-rights.test: a signature that waits for its turn at the key service is not made after %s',
    'http/revoked-rights.test: accepts no transaction (%s) of a key that was revoked while the chain was asked',
  ],
  '`X-Forwarded-For` is trusted only from `TRUSTED_PROXIES`': [
    'operations/api-keys.test: uses the address of the connection, whatever a header says',
    'operations/api-keys.test: uses the address that a trusted proxy reports, and no earlier one',
  ],
  'Nothing is sent twice after a crash': [
    'crash.test: loses nothing, sends nothing twice and leaves no gap',
    'crash/run',
  ],
  "A relayer's `policies` apply to every signature": [
    'policies/policy-signatures.test: allows messages, hashes, documents and transactions separately',
    'policies/policy-limits.test: accepts 37 of 100 concurrent requests under a limit for 37, on two services together, and none after a restart',
    'policies/fee-limits.test: applies max_fee_per_transaction to sending, replacing, signing and dry runs',
  ],
  'apply to every relayer on the same address, on any chain': [
    'policies/address-policies.test: applies policies %j of one relayer to another one on the address, with %j',
  ],
  'webhooks and RPC URLs must not resolve to private, link-local': [
    'outbound/webhook-targets.test: delivers to no hostile URL that leads to this machine',
    'outbound/targets.test: rejects hostile URLs',
  ],
  'Literal and stored addresses are checked at each call too, and the log gives the reason of a refusal': [
    'outbound/stored-addresses.test: calls no private RPC address that was stored before the setting forbade it',
  ],
  'A name is resolved once, checked, and called at the checked address': [
    'outbound/webhook-targets.test: looks up a name once per delivery, and never calls this machine in 1,000 tries',
    'webhooks/webhook-attempts.test: treats a redirect as a failure, and does not follow it',
  ],
  'Signatures cover id, time and body (Standard Webhooks)': [
    'webhooks/webhook-signature.test: refuses a thousand mutations of id, time, body and signature',
  ],
  'Limits: headers 16 KB and 10 s, bodies 1 MiB and 30 s, 30 s to read a response, 60 s idle': [
    'http/slow-sockets.test: disconnects slow sockets of every kind, and serves others meanwhile',
    'http/bad-input.test: rejects bodies of the wrong size, type or encoding',
    'hostile/sockets',
  ],
  'one keystore at a time with at most 256 MiB and a few seconds': [
    'keys/keystores.test: refuses a keystore that does not open or costs too much, with the reason',
    'keys/keystores.test: ends a key derivation at its time limit, and opens the next keystore',
  ],
  '16 MiB of data in a page of transactions': [
    'http/large-pages.test: rejects a page of more than 16 MiB before it is read, and serves a smaller one',
  ],
  'One API key holds at most a quarter of the connections, streams, RPC calls and of the memory for bodies and pages': [
    'http/held-bodies.test: limits the connections of one key to a quarter',
    'http/held-bodies.test: limits the bodies of one key to a quarter',
    'http/caller-shares.test: allows one key a quarter of the event streams, and serves others',
    'http/caller-shares.test: does not delay the sender by slow RPC calls of a read key',
    'http/large-pages.test: charges unread pages to the share of their API key only',
  ],
  'some keys together leave a part for the next one': [
    'http/caller-shares.test: leaves a part for the next key, however many keys take all they get',
    'http/caller-shares.test: gives the released shares of the largest holder to keys that hold less',
  ],
  'Every operation that needs a token counts against the rate limit': [
    'http/rate-limit.test: limits every operation that needs a token, counts changes as five',
  ],
  'a change of the configuration as five requests, and large bodies and responses once for each 64 KiB': [
    'http/change-floods.test: refuses the changes of a key above its rate, each counted as five requests',
    'http/change-floods.test: counts a large response once more for each 64 KiB, whichever operation gives it',
    'http/rate-limit.test: counts a large request or response once for each 64 KiB',
  ],
  'Event streams of one key share one read rate': [
    'http/large-pages.test: limits the pace of all streams of an API key together',
  ],
  'Each response of a node is limited by its method': [
    'evm/answer-limits.test: limits a batch to the sum of its calls, and at most to one large answer',
    'http/caller-shares.test: refuses a node’s answer that is too large with 502',
  ],
  'It is counted while it arrives and ended at the limit, and the log names the endpoint': [
    'evm/answer-limits.test: ends a node’s answer at the limit of its method, reports the node, and asks the next one',
    'evm/answer-limits.test: asks another node for a receipt that is too large',
  ],
  'A response above 1 MiB is parsed in a thread of its own': [
    'evm/answer-limits.test: parses an answer above 1 MiB in a thread of its own, without loss',
  ],
  'A malformed response is a fault of the endpoint': [
    'evm/malformed-answers.test: answers a malformed answer of a node with 503 or as it is, and never with 500',
  ],
  'show no eight characters of its URL': ['evm/url-secrets.test: redacts the key in a node’s URL %s'],
  'A rest that callers': [
    'evm/endpoint.test: rests after a 429 to a call of %s at most %i of the 30 s that the node asks for',
  ],
  'Every request is validated against the contract': [
    'http/generated-requests.test',
    'http/bad-input.test: rejects bodies that are not JSON or violate the contract',
  ],
  'With the heads that the log reports every minute, an edit, a removal or a reordering before the last head is detected':
    [
      'http/audit.test: detects 1,000 random edits, deletions and reorderings',
      'http/audit.test: verifies the trail by the command, and its end by the log',
    ],
  'Without them it is detected only if the hashes were not recomputed': [
    'security-claims.test: detects an audit trail with recomputed hashes by the log, and not without it',
  ],
  "Keys are decrypted in the process's memory": [],
  'A key in AWS KMS': ['keys/aws-kms.test: encrypts the reference to the key in the store'],
  '`token_limits` count four ERC-20 functions and refuse all others': [
    'policies/token-calls.test: recognizes token transfers and allowances',
    'policies/token-calls.test: treats everything else as another call',
  ],
  'A pause stops one relayer only': ['security-claims.test: signs with another relayer on the address of a paused one'],
  '`API_KEY` has all rights and does not expire': [
    'operations/api-keys.test: lets only keys with all scopes and no limit manage API keys',
  ],
  'Tokens and responses are sent in plain text': [
    'server.test: prints a curl command that signs with the demo relayer: %s',
  ],
  'RPC URLs, webhook URLs and transactions are stored in plain text': [
    'security-claims.test: stores URLs in plain text, masks those of nodes in responses',
  ],
  'The 409 for a taken id reveals that it exists': ['security-claims.test: reveals by 409 that an id is taken'],
  'the amounts counted against daily limits, which carry no MAC': [
    'security-claims.test: does not detect that the table of daily limits was emptied, because it carries no MAC',
  ],
  'They can also restore an older copy of the whole database': [
    'secrets/rights.test: accepts a whole backup, because rows and manifest belong together',
  ],
  'A writer of the database can recompute the audit trail': [
    'security-claims.test: detects an audit trail with recomputed hashes by the log, and not without it',
  ],
  'loses the signature entries of the last 50 ms': [
    'http/audit.test: keeps the entry of a response that was sent 50 ms before a kill -9',
    'http/audit.test: keeps the entries of earlier responses after a kill -9 under load',
  ],
  "A node's answers are trusted for display": ['sending/lying-nodes.test', 'chaos/run'],
  'It cannot cause a transaction to be sent again under another nonce': [
    'sending/lying-nodes.test: puts each accepted transaction on the chain once with one liar among three nodes',
    'sending/lying-nodes.test: gives an accepted transaction no new nonce by heal because the only node reports its nonce as used',
  ],
  'Its refusal does not end a transaction': [
    'sending/refusals.test: sends every transaction through the second node when the first one rejects all, and none fails',
    'sending/refusals.test: keeps a transaction waiting that the only node rejects, without another signature, and sends it when the node accepts it',
    'sending/refusals.test: fails a transaction that both nodes reject and returns its nonce, a limited number of times an hour',
  ],
  'Its transaction count does not raise the nonce counter': [
    'sending/lying-nodes.test: follows two nodes that agree on a small step for three blocks',
    'sending/lying-nodes.test: does not believe one node about an imported key’s history that no node shows, and accepts the operator’s count',
  ],
  'A final state requires that more than half of all configured nodes have the same receipt': [
    'sending/faults/nonces.test: H4: confirms nothing while two of three endpoints are silent and the third lies',
    'sending/lying-nodes.test: does not believe one node of three that shows a receipt of a transaction in no block',
    'sending/lying-nodes.test: confirms nothing early when one node of three shows a block far ahead',
  ],
  'A node that calls a nonce used for an hour and shows no receipt makes the transaction `failed`': [
    'sending/lying-nodes.test: does not block the account after a transaction failed because its nonce was reported as used for an hour',
    'sending/lying-nodes.test: corrects a failed transaction when the node that denied its receipt for an hour shows it',
  ],
  "The market's price is the median of three nodes": [
    'evm/market.test',
    'policies/fee-limits.test: does not pay the balance to the proposer after a mistake in a price, with only max_value and a whitelist',
  ],
  'never outbid': [
    'sending/waiting-reasons.test',
    'sending/faults/nonces.test: H1: does not replace another sender’s transaction at the next nonce, until the caller asks for it',
    'chaos/run',
  ],
  'Two services with one key may sign the very same bytes': [
    'sending/faults/nonces.test: C3: does not take an equal transaction of another sender for its own',
    'sending/faults/nonces.test: M1: after an older copy of the database is started, no pending payment of the newer one is replaced',
  ],
  "`valid_until` and the 24 hours of daily limits follow the system's clock": [
    'background/clock.test: cancels a submitted transaction on the chain at valid_until, and then expires it',
    'policies/policy-limits.test: counts the last 24 hours: spending leaves the sum one by one, and a clock that goes back frees nothing',
  ],
  'Requests without a valid token get a 401 at any rate': [
    'http/rate-limit.test: does not count a request without a token',
  ],
  '`METRICS_PORT` requires no token': ['telemetry/metrics.test: serves no metrics without the setting'],
  'private addresses may be called, both keys are generated into files of mode 0600': [
    'secrets/master-key.test: creates keys and databases that only their user can read',
    'outbound/targets.test: checks only scheme, name and password of URLs where private targets are allowed',
  ],
}

export const readmeClaims: Claims = {
  'An accepted transaction reaches the chain exactly once, or ends as `failed`, `canceled` or `expired`': [
    'crash.test: loses nothing, sends nothing twice and leaves no gap',
    'sending/reorg.test: mines all transactions again after 10 reorganizations of depth 1 to 10, and takes nothing confirmed back',
    'sending/dropped.test: broadcasts transactions again that the pool dropped under traffic',
    'evm/rpc-faults.test: loses and doubles nothing under each kind of fault of a node',
    'chaos/run',
    'model.test',
  ],
  'Every request and every response is validated against': ['http/generated-requests.test'],
  'A second request with the same `Idempotency-Key` and the same body returns the first transaction and sends nothing':
    [
      'sending/idempotency.test: creates one transaction for 100 concurrent requests with one key, also in two processes',
    ],
  'It moves everything or nothing, and checks the copy before the commit': [
    'commands/move-database.test: moves every row of every table, and the service continues where it was',
    'commands/move-database.test: completes a move after a kill at any point, and moves every row once',
  ],
  '`compose.yaml` runs PostgreSQL and two servers behind port 8080': ['compose.test'],
  'When a setting is invalid, startup fails and names it': ['config.test'],
  'A change or a revocation applies from the next request on, in every process': [
    'operations/api-keys.test: applies a revocation by another process on the same store at once',
  ],
  'A change and its entry are one commit': [
    'http/audit.test: records a transaction, and each signature for it, in the same commits as their changes',
  ],
  'at most 50 ms after its response, or before the next request is handled if that is later': [
    'http/audit.test: keeps the entries of earlier responses after a kill -9 under load',
  ],
  'The service signs nothing while it cannot write the trail': [
    'http/audit.test: signs nothing while the trail cannot be written',
  ],
  'A signature takes about 180 bytes of the database': [
    'security-claims.test: takes about 180 bytes of the audit trail for a signature',
  ],
  'Deliveries are made at least once, in order per transaction, and their bytes never change': [
    'webhooks/webhook-crash.test: loses and changes nothing after 3 kills and faults in three of ten responses',
    'webhooks/webhooks.test: repeats a failed delivery with the same id and bytes, before any later event of the same relayer',
    'webhooks/run',
  ],
  'Failed deliveries are retried for three days': ['webhooks/webhook-clock.test: makes ten attempts at 0'],
  'finishes running requests for a grace period of 8 seconds and exits': [
    'stop.test: loses nothing accepted at a SIGTERM under load: processes %i',
  ],
  '`kill -9` loses no accepted transaction': [
    'crash.test: loses nothing, sends nothing twice and leaves no gap',
    'crash/run',
  ],
  'One of them sends; when it ends, another takes over': [
    'background/lease.test: signs and mines each transaction once when two services share a database, also when one of them ends',
    'background/processes.test: replaces a process that dies, and ends all processes with the first one',
  ],
  'verifies the copy, and never overwrites a file': [
    'commands/backup.test: keeps an existing file, and reports an impossible path in one line',
    'commands/backup.test: does not back up a damaged database',
  ],
  'Payments of the newer copy that wait in the pool are not replaced': [
    'sending/nonces.test: sends nothing twice and reuses no nonce after a restore of an older backup',
    'sending/faults/nonces.test: M1: after an older copy of the database is started, no pending payment of the newer one is replaced',
  ],
  'Paths, queries, headers and bodies are never logged': [
    'http/request-log.test: logs operation, caller and duration, and no input of the caller',
  ],
  'If the command is interrupted, run it again': [
    'secrets/rotate-master-key.test: leaves a service that signs as before after a kill before any step of a rotation, and succeeds at the next run',
    'secrets/killed-rotation.test: keeps the old or the new key usable after a kill before any step of a rotation %s, and completes it at the next run',
  ],
  'Rows that another program changed are refused with 503 (API keys: 401)': [
    'secrets/rights.test: refuses and reports a forged API key, and accepts the others',
  ],
  'When the disk is full, writes return 503 with `Retry-After`; no data is lost': ['disk/run'],
  'process exits with code 74': ['disk/run'],
  'their outcome is unknown: repeat a transaction only with its `Idempotency-Key`': [
    'store/failing-disk.test: reports an unknown outcome when the disk fails at COMMIT, and makes no change again',
  ],
  'Nonce counters are never deleted': [
    'background/retention.test: keeps the transactions after an unfinished one, and the transaction of the last used nonce',
  ],
  'After the clock jumps ahead, nothing is deleted for 24 hours and the log warns': [
    'background/retention.test: deletes nothing when the clock is far ahead, and logs this',
  ],
  'is signed again at the same nonce for at least 10 % more': [
    'sending/fees-on-chain.test: raises the price of 100 pending transactions by at least 10 %',
  ],
  'Nonces come from the database, never from a node': [
    'sending/nonces.test: lowers a counter that is ahead of the chain, if nothing was signed, with the next transaction or by heal',
  ],
}
