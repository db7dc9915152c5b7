import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { folderWith, run, startRelayer } from './tool.ts'

// Schemathesis generates requests from the contract, valid and invalid ones, and judges the answers. `EXAMPLES` of each operation.

const folder = folderWith({
  'schemathesis.toml': `
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "412", "422", "428", "429"]
`,
})
const tool = join(folder, 'bin', 'schemathesis')

/** The members that are amounts: the service also reads an integer (`x-also-accepted`), which a strict client does not know. */
const amounts = [
  ...readFileSync(join(import.meta.dirname, '../../generated/openapi.json'), 'utf8').matchAll(
    /"(\w+)":\s*\{(?:[^{}]|\[\s*\{)*"\$ref":\s*"#\/components\/schemas\/AmountInput"/g,
  ),
].map(([, name]) => name)

/** What no schema can say, or what the tool calls wrong and the field calls right: the check, the status and words of the answer. */
const reasons: [check: string, status: string, words: RegExp, reason: string][] = [
  ['ST202', '400', /"code":"not_found"|no relayer with this id/, 'the body names a resource that does not exist'],
  ['ST202', '400', /EIP-55 checksum/, 'a checksum is no regular language'],
  [
    'ST202',
    '400',
    /integer of digits only/,
    'an amount as a float (69.0) is refused: whoever computes in floats loses wei',
  ],
  [
    'ST202',
    '400',
    /is not in the ABI|of the ABI|in the ABI/,
    'the ABI and the call are members that have to fit each other',
  ],
  [
    'ST202',
    '400',
    /has no private_rpc_urls|must be above min_balance|must be at most max_fee_per_gas/,
    'two members that have to fit each other, or the stored state',
  ],
  [
    'ST202',
    '400',
    /double precision represents exactly/,
    'a number that a reader rounds is refused, wherever it stands',
  ],
  ['ST202', '400', /is listed twice/, 'uniqueItems compares whole items, and the address of each is to be unique'],
  ['ST202', '400', /elementary type of EIP-712/, 'names of types are declared in the same document'],
  ['ST202', '400', /IP address with an optional prefix/, 'the pattern of an IPv6 address takes longer than the check'],
  [
    'ST202',
    '400',
    /host in googleapis.com|host name|https URL/,
    'which hosts may get a credential is a rule of the service',
  ],
  ['ST202', '400', / in the (?:future|past)|must be (?:later|earlier)/, 'a time that depends on the present'],
  ['ST202', '400', /insufficient_funds|execution_reverted/, 'the state of the chain'],
  [
    'ST201',
    '20[01]',
    new RegExp(`(?:${amounts.join('|')}): Incorrect type`),
    'an amount may be an integer, see AmountInput',
  ],
  ['ST201', '200', /"jsonrpc":"2.0"/, 'JSON-RPC 2.0 answers a fault of the body with an error and status 200'],
  [
    'ST205',
    '405',
    /must be one of GET, HEAD, POST/,
    'the list of transactions, whose path ends with a slash, is served without it too',
  ],
  [
    'ST101',
    '503',
    /could not be reached|cannot be resolved|key service|Vault|ECONNREFUSED/,
    'no key service answers here',
  ],
  ['ST101', '503', /No node of the network answers/, 'the tool creates networks and changes their nodes'],
]

beforeAll(async () => {
  await run(folder, 'python3', ['-m', 'venv', folder])
  await run(folder, join(folder, 'bin', 'pip'), ['install', '--quiet', 'schemathesis==4.32.5'])
})

test('answers what Schemathesis generates as the contract says', async () => {
  const { rig } = await startRelayer({ settings: { RATE_LIMIT_PER_SECOND: '100000' } })
  const printed = await promisify(execFile)(
    tool,
    [
      ...['--config-file', join(folder, 'schemathesis.toml'), 'run', `${rig.url()}/openapi.json`],
      ...['--url', rig.url(), '--header', `Authorization: Bearer ${rig.api_key}`, '--no-color'],
      ...['--exclude-operation-id', 'streamRelayerEvents', '--exclude-operation-id', 'streamPoolEvents'],
      ...['--phases', 'examples,coverage,fuzzing', '--max-examples', process.env.EXAMPLES ?? '15'],
      ...['--generation-deterministic', '--output-truncate', 'false'],
    ],
    { cwd: folder, maxBuffer: 64 * 1024 * 1024 },
  ).then(
    ({ stdout }) => stdout,
    ({ stdout }) => stdout as string,
  )
  const failures = [...printed.matchAll(/^_+ ([A-Z]+ \S+) _+$([\s\S]*?)(?=^_+ [A-Z]+ |^=+ )/gm)].flatMap(
    ([, operation, block = '']) =>
      [...block.matchAll(/^- (ST\d+) ([\s\S]*?)^\[(\d+)\] [^`]*`([\s\S]*?)`$/gm)].map(
        ([, check, told = '', status = '', answer = '']) => ({
          ...{ operation, check, status, answer },
          reason: reasons.find(
            ([its, code, words]) => its === check && RegExp(code).test(status) && words.test(`${told}${answer}`),
          )?.[3],
        }),
      ),
  )
  const [summary = ''] = /^ {2}\d+ generated.*$/m.exec(printed) ?? [printed.slice(-3_000)]
  const lines = failures.map((its) => `  ${its.operation}: ${its.check} ${its.status}: ${its.reason ?? its.answer}`)
  process.stdout.write(`${summary.trim()}\n${lines.join('\n')}\n`)
  expect(printed).toMatch(/^ {2}Tested: \d+$/m)
  expect(failures).toHaveLength(Number(/ generated, (\d+) found /.exec(summary)?.[1] ?? 0))
  expect(failures.filter(({ reason }) => reason === undefined)).toEqual([])
})
