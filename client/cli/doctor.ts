import type { Command } from 'commander'
import { RelayerError } from '../error.ts'
import type { Context } from './context.ts'
import { examineNetworks, examineNotifications, examineProblems, examineRelayers, listProblems } from './examine.ts'
import { exitCodes, isUnreached, unreachedReason } from './exit-codes.ts'
import { type Finding, fine, problem } from './finding.ts'

const marks = { ok: 'ok      ', warning: 'warning ', problem: 'PROBLEM ' }

/** `doctor`: service, store, nodes, nonces, balances and webhooks, and what else the service calls a problem. */
export function addDoctor(program: Command, context: () => Context): void {
  program
    .command('doctor')
    .description('check service, store, nodes, nonces, balances and webhooks, and say what to do')
    .action(async () => {
      const world = context()
      const findings: Finding[] = []
      for await (const finding of examine(world)) {
        findings.push(finding)
        if (!world.print.isJson) world.print.line(finding, inText(finding))
      }
      if (world.print.isJson) world.print.one(findings)
      if (findings.some(({ state }) => state === 'problem')) process.exitCode = exitCodes.problems
    })
}

const inText = ({ part, state, message, remedy }: Finding) =>
  `${marks[state]}${part}: ${message}${remedy === null ? '' : `\n        ${remedy}`}`

async function* examine(world: Context): AsyncGenerator<Finding> {
  const service = await examineService(world)
  yield service
  if (service.state === 'problem') return
  yield await examineStore(world)
  const key = await examineKey(world)
  yield key
  if (key.state === 'problem') return
  yield* examineNetworks(world)
  const problems = await listProblems(world)
  yield* examineRelayers(world, problems)
  yield* examineNotifications(world, problems)
  yield* examineProblems(problems)
}

async function examineService({ client, url }: Context): Promise<Finding> {
  try {
    await client.get('/api/v1/health')
    return fine('service', `${url} answers`)
  } catch (error) {
    const told = isUnreached(error) ? unreachedReason(error) : (error as Error).message
    return problem('service', `${url} does not answer: ${told}`, 'Start the service, or correct RELAYER_URL.')
  }
}

/** Readiness reports the process and its store. */
async function examineStore({ client }: Context): Promise<Finding> {
  try {
    await client.get('/api/v1/ready')
    return fine('store', 'ready')
  } catch (error) {
    return problem('store', (error as Error).message, "Read the service's log; check the disk and the database.")
  }
}

async function examineKey({ client }: Context): Promise<Finding> {
  try {
    await client.get('/api/v1/relayers', { query: { per_page: 0 } })
    return fine('API key', 'accepted')
  } catch (error) {
    if (!(error instanceof RelayerError)) throw error
    return problem('API key', error.message, 'Set RELAYER_API_KEY to a valid key with the scope "read".')
  }
}
