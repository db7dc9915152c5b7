import type { LoadRequest } from './load-types.ts'
import type { Figures } from './measure.ts'
import { apiKey, putLoad, type Server } from './processes.ts'

export interface Bench {
  rounds: number
  /** How long each contender is under load in each round. */
  seconds: number
  quick: boolean
  /** Where the databases with many transactions are. */
  history_dir: string
}

/** The result of a case: figures by contender and round, and the limits of their ratios. */
export interface CaseResult {
  rounds: Record<string, Figures[]>
  ratios: Ratio[]
  /** Limits of single figures. */
  limits?: { contender: string; figure: string; wanted: string }[]
  skipped?: string
}

/** `over` / `under`, each a contender, round by round. */
export interface Ratio {
  figure: string
  over: string
  under: string
  wanted?: string
}

export type Case = (bench: Bench) => Promise<CaseResult>

export interface Contender {
  name: string
  server: Pick<Server, 'url' | 'pid'>
  requests: LoadRequest[]
  rate?: number
  /** Resolves when the server has finished the accepted work, which would slow down the other contenders. */
  rest?(): Promise<void>
}

const warmUpLong = 15_000
const warmUpQuick = 3_000
const warmUpTurns = 3

/**
 * Loads them one after the other, in turns, so that what happens on the machine meanwhile spoils the ratios of a round
 * least. Each is warmed up first. Every turn begins with another contender: several may be requests to the same server, which is
 * slower with the first of them after the others' turns.
 */
export async function compare(
  bench: Bench,
  contenders: Contender[],
  { connections = 10, core = 'load' as 'load' | 'any', warmUp = true } = {},
): Promise<Record<string, Figures[]>> {
  const { seconds } = bench
  const load = async ({ server, requests, rate, rest }: Contender, more: object = {}) => {
    const { url, pid } = server
    const figures = await putLoad({ url, pid, requests, connections, seconds, ...(rate && { rate }), ...more }, core)
    await rest?.()
    return figures
  }

  const rounds = Object.fromEntries(contenders.map(({ name }) => [name, [] as Figures[]]))
  if (warmUp) {
    // By number, not by time: a machine that is busy otherwise would leave them half compiled.
    const amount = bench.quick ? warmUpQuick : warmUpLong
    for (let turn = 0; turn < warmUpTurns; turn += 1) {
      for (const contender of beginningAt(turn, contenders)) await load(contender, { amount: amount / warmUpTurns })
    }
  }
  for (let round = 0; round < bench.rounds; round += 1) {
    for (const contender of beginningAt(round, contenders)) rounds[contender.name]?.push(await load(contender))
  }
  return rounds
}

function beginningAt<T>(turn: number, all: T[]): T[] {
  const first = turn % all.length
  return [...all.slice(first), ...all.slice(0, first)]
}

/** Throws unless all answer the request with the same body: only then is it the same work. */
export async function assertSame(contenders: Contender[]): Promise<void> {
  for (let index = 0; index < (contenders[0]?.requests.length ?? 0); index += 1) {
    const answers = await Promise.all(
      contenders.map(async ({ name, server, requests }) => {
        const { path, method, headers, body } = requests[index] as LoadRequest
        const response = await fetch(`${server.url}${path}`, { method, headers, ...(body && { body }) })
        return { name, text: `${response.status} ${await response.text()}` }
      }),
    )
    const other = answers.find(({ text }) => text !== answers[0]?.text)
    if (other) throw new Error(`${answers[0]?.name} answers\n${answers[0]?.text}\nand ${other.name}\n${other.text}`)
  }
}

export const get = (path: string): LoadRequest => ({ method: 'GET', path, headers: authorization })

export const send = (method: 'POST' | 'PATCH', path: string, body: unknown): LoadRequest => ({
  method,
  path,
  body: JSON.stringify(body),
  headers: { ...authorization, 'Content-Type': 'application/json' },
})

const authorization = { Authorization: `Bearer ${apiKey}` }
