/** The tests of the API that `npm test` runs on PostgreSQL too; `TEST_DATABASE=postgres npm test` runs all. */
export const alsoOnPostgres = [
  'test/sending/sending.test.ts',
  'test/sending/idempotency.test.ts',
  'test/sending/metadata.test.ts',
  'test/api/handlers/pool-rights.test.ts',
  'test/api/handlers/search.test.ts',
  'test/api/handlers/transaction-lists.test.ts',
  'test/webhooks/event-data.test.ts',
  'test/policies/budgets.test.ts',
  'test/policies/coin-token.test.ts',
  'test/policies/policies.test.ts',
  'test/settlement/settlement.test.ts',
]

/** The tests that run on SQLite only, by file, with the reason. They do not run with TEST_DATABASE=postgres. */
export const onSqliteOnly: Record<string, string> = {
  'test/background/lease.test.ts': 'the lease of processes on one file; test/store/work-share.test.ts for PostgreSQL',
  'test/client/client-retry.test.ts':
    'sets the clock of the rate limit; test/api/http/shared-rate-limit.test.ts for that of PostgreSQL',
  'test/cli/backup.test.ts': 'the command copies a file; PostgreSQL has its own tools',
  'test/cli/wrong-folder.test.ts': 'the folder of a file; test/cli/postgres.test.ts for PostgreSQL',
  'test/crash.test.ts': 'reads the file of the killed process',
  'test/funding.test.ts': 'kills the process at the commits of a file',
  'test/api/http/audit.test.ts': 'changes the trail in the file; test/store/audit-chains.test.ts for PostgreSQL',
  'test/api/http/change-floods.test.ts':
    'sets the clock of the rate limit; test/api/http/shared-rate-limit.test.ts for that of PostgreSQL',
  'test/api/http/rate-limit.test.ts':
    'sets the clock of the rate limit; test/api/http/shared-rate-limit.test.ts for that of PostgreSQL',
  'test/model.test.ts': 'the processes of the model share a file',
  'test/keys/key-encryption.test.ts': 'runs commands on the file',
  'test/keys/killed-rotation.test.ts': 'kills the command between its writes to the file and to the key file',
  'test/keys/master-key.test.ts': 'whether the file exists decides if a master key is made',
  'test/keys/planted-secrets.test.ts': 'searches the bytes of the file',
  'test/keys/rights.test.ts': 'changes the file; test/store/conformance/rights.test.ts for PostgreSQL',
  'test/keys/rotate-master-key.test.ts': 'runs the command on the file; test/cli/postgres.test.ts for PostgreSQL',
  'test/security-claims.test.ts': 'recomputes the one hash chain of a file',
  'test/sending/faults/reasons.test.ts': 'copies the file of a service that runs',
  'test/sending/large-transactions.test.ts': 'opens the store of a file',
  'test/server.test.ts': 'the files of the first start',
  'test/store/bulk-changes.test.ts': 'the steps of the SQLite store',
  'test/store/checkpoints.test.ts': 'the write-ahead log of SQLite',
  'test/store/database.test.ts': 'the settings of SQLite',
  'test/store/filtered-lists.test.ts': 'the steps of the SQLite store',
  'test/store/in-one-commit.test.ts': 'the group commit of SQLite',
  'test/store/killed-between-batches.test.ts': 'the steps of the SQLite store',
  'test/store/pages-of-file.test.ts': 'counts the bytes that are read from the file',
  'test/store/transaction-data.test.ts': 'the triggers of SQLite',
  'test/webhooks/webhook-crash.test.ts': 'reads the file of the killed process',
}
