import { startFakeKms } from '../../support/fake-kms.ts'

// `node kms.ts DELAY_MS`: a key service with a key `bench`, whose every call takes so long.

const kms = await startFakeKms()
kms.addKey({ id: 'bench' })
kms.faults.delay_ms = Number(process.argv[2] ?? 0)
process.once('SIGTERM', () => process.exit(0))
process.stdout.write(`${kms.url}\n`)
