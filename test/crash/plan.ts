import { randomFrom } from '../support/random.ts'

/** The steps of a run and their times, generated from its seed before it begins. */
export interface Plan {
  /** The lives of the service's processes, each from a start to a kill. */
  lives: Life[]
  /** The first requests of the clients when the last process is ready: they show whether a kill left anything that blocks them. */
  afterwards: Release[]
  /** The submissions whose client repeats the request before the first response. */
  impatient: ReadonlySet<number>
}

export interface Life {
  /** `start`: killed while it starts; `work`: killed when it has been ready for a while. */
  during: 'start' | 'work'
  /** From the start, or from the moment that it was ready. */
  kill_after_ms: number
  /** The delay of the node's answers to eth_sendRawTransaction, after the transaction is broadcast. */
  answer_delay_ms: number
  /** The submissions that clients begin during this life, with their times. */
  releases: Release[]
}

/** Of a submission, to a client. */
export interface Release {
  index: number
  after_ms: number
}

export interface PlanOptions {
  kills: number
  submissions: number
  seed: number
}

const startProbability = 0.1
/** A start takes a second or three, so most of these moments lie within it. */
const maxStartMs = 1_500
const maxWorkMs = 600
const maxAnswerDelayMs = 150
const impatientProbability = 0.15
const afterwardsShare = 0.05

export function createPlan({ kills, submissions, seed }: PlanOptions): Plan {
  const random = randomFrom(seed)
  const between = (from: number, to: number) => Math.floor(from + random() * (to - from))

  const lives = Array.from({ length: kills }, (_, life): Life => {
    // The first life has been ready since the relayer was made.
    const during = life > 0 && random() < startProbability ? 'start' : 'work'
    return {
      during,
      kill_after_ms: between(0, during === 'start' ? maxStartMs : maxWorkMs),
      answer_delay_ms: between(0, maxAnswerDelayMs),
      releases: [],
    }
  })
  const afterwards: Release[] = []
  const during = Math.floor(submissions * (1 - afterwardsShare))
  for (let index = 0; index < submissions; index += 1) {
    const releases = index < during ? lives[Math.floor((index * kills) / during)]?.releases : afterwards
    // Spread over the life, so that whenever it ends something has only just begun; the rest meets a dead service.
    releases?.push({ index, after_ms: between(0, maxWorkMs / 2) })
  }
  const impatient = new Set(Array.from({ length: submissions }, (_, index) => index))
  for (const index of impatient) if (random() >= impatientProbability) impatient.delete(index)
  return { lives, afterwards, impatient }
}
