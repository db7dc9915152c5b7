import type { RelayerClient } from '../../client/index.ts'
import type { paths } from '../../generated/client.ts'
import { randomFrom } from '../support/random.ts'
import { available } from './callers.ts'

/** A server as the rounds see it. */
export interface Place {
  url: string
  /** With the administrator's key. */
  client: RelayerClient
}

export interface RevocationOptions {
  places: Place[]
  rounds: number
  seed: number
}

export interface RevocationResult {
  rounds: number
  /** Signatures before the answers to the changes, and refusals after them. */
  signed: number
  refused: number
  /** Signatures that began after the answer: of which round, and on which server. */
  late: string[]
  /** Refusals that began after the answer to the change that allows signing again. */
  missed: string[]
  /** Answers with another status than the change causes. */
  wrong: string[]
  duration_ms: number
}

interface Subject {
  relayer_id: string
  key_id: string
  token: string
}

/** Takes a right away; `again` gives it back where that is possible. `statuses`: of a signature afterwards. */
interface Change {
  statuses: number[]
  apply(client: RelayerClient, subject: Subject): Promise<unknown>
  again?(client: RelayerClient, subject: Subject): Promise<unknown>
}

const forever = '2999-01-01T00:00:00.000Z'
const past = '2000-01-01T00:00:00.000Z'

const patchRelayer = (client: RelayerClient, { relayer_id }: Subject, body: Body<'/api/v1/relayers/{relayer_id}'>) =>
  client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id }, body })
const patchKey = (client: RelayerClient, { key_id }: Subject, body: Body<'/api/v1/api-keys/{api_key_id}'>) =>
  client.patch('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: key_id }, body })

type Body<Path extends keyof paths> = paths[Path] extends {
  patch: { requestBody: { content: { 'application/json': infer B } } }
}
  ? B
  : never

const changes: Record<string, Change> = {
  pause: {
    statuses: [403],
    apply: (client, subject) => patchRelayer(client, subject, { paused: true }),
    again: (client, subject) => patchRelayer(client, subject, { paused: false }),
  },
  policy: {
    statuses: [403],
    apply: (client, subject) => patchRelayer(client, subject, { policies: { allow_messages: false } }),
    again: (client, subject) => patchRelayer(client, subject, { policies: { allow_messages: true } }),
  },
  scopes: {
    statuses: [403],
    apply: (client, subject) => patchKey(client, subject, { scopes: ['read'] }),
    again: (client, subject) => patchKey(client, subject, { scopes: ['sign'] }),
  },
  expiry: {
    statuses: [401],
    apply: (client, subject) => patchKey(client, subject, { expires_at: past }),
    again: (client, subject) => patchKey(client, subject, { expires_at: forever }),
  },
  rotation: {
    statuses: [401],
    apply: (client, { key_id }) =>
      client.post('/api/v1/api-keys/{api_key_id}/rotate', {
        path: { api_key_id: key_id },
        body: { previous_token_valid_seconds: 0 },
      }),
  },
  'deleted key': {
    statuses: [401],
    apply: (client, { key_id }) => client.delete('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: key_id } }),
  },
  'deleted relayer': {
    statuses: [403, 404],
    apply: (client, { relayer_id }) => client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id } }),
  },
}

const callersEach = 1
/** The number of concurrent signatures requested from each server after the response to the change. */
const burstEach = 3

/**
 * Signs on all servers without pause while one of them removes the right and restores it, `rounds` times: no signature may begin after
 * the response to the change has arrived.
 */
export async function runRevocation({ places, rounds, seed }: RevocationOptions): Promise<RevocationResult> {
  const began = performance.now()
  const random = randomFrom(seed)
  const kinds = Object.entries(changes)
  const result: RevocationResult = {
    ...{ rounds, signed: 0, refused: 0, late: [], missed: [], wrong: [] },
    duration_ms: 0,
  }
  let subject: Subject | undefined
  const network = `revocation-${seed}`
  await available(() =>
    (places[0] as Place).client.post('/api/v1/networks', {
      body: { name: network, network_type: 'evm', chain_id: 31_337, rpc_urls: ['http://127.0.0.1:1'] },
    }),
  )
  for (let round = 0; round < rounds; round += 1) {
    const [name, change] = kinds[round % kinds.length] as [string, Change]
    const { client } = places[Math.floor(random() * places.length)] as Place
    subject ??= await makeSubject(client, network, `${seed}-${round}`)
    const its = subject
    await follow(
      places,
      its,
      [200],
      () => available(() => change.apply(client, its)),
      (place, status, isLate) => {
        count(status)
        if (!isLate) return
        if (status === 200) result.late.push(`round ${round}, ${name}: signed on ${place}`)
        else if (!change.statuses.includes(status)) result.wrong.push(`round ${round}, ${name}: ${status} on ${place}`)
      },
    )
    const { again } = change
    if (!again) {
      subject = undefined
      continue
    }
    const { client: other } = places[Math.floor(random() * places.length)] as Place
    await follow(
      places,
      its,
      change.statuses,
      () => available(() => again(other, its)),
      (place, status, isLate) => {
        count(status)
        if (isLate && status !== 200) result.missed.push(`round ${round}, ${name}: ${status} on ${place}`)
      },
    )
  }
  return { ...result, duration_ms: performance.now() - began }

  function count(status: number): void {
    if (status === 200) result.signed += 1
    else result.refused += 1
  }
}

type Note = (place: string, status: number, isLate: boolean) => void

/**
 * Signs on all servers from before the change until each has answered as it must afterwards. `isLate`: the request was sent after the
 * response to the change had arrived.
 */
async function follow(
  places: Place[],
  subject: Subject,
  before: number[],
  change: () => Promise<unknown>,
  note: Note,
): Promise<void> {
  let answeredAt = Number.POSITIVE_INFINITY
  const ready = places.flatMap(() => Array.from({ length: callersEach }, () => Promise.withResolvers<void>()))

  const attempt = async ({ url }: Place) => {
    const sentAt = performance.now()
    const status = await sign(url, subject)
    note(url, status, sentAt > answeredAt)
    return { status, isLate: sentAt > answeredAt }
  }
  const call = async (place: Place, hot: PromiseWithResolvers<void>) => {
    for (;;) {
      const { status, isLate } = await attempt(place)
      if (before.includes(status)) hot.resolve()
      if (isLate) return
    }
  }
  const calling = places.flatMap((place, index) =>
    ready.slice(index * callersEach, (index + 1) * callersEach).map((hot) => call(place, hot)),
  )
  // Each server has the rights in memory.
  await Promise.all(ready.map(({ promise }) => promise))
  await change()
  answeredAt = performance.now()
  const burst = places.flatMap((place) => Array.from({ length: burstEach }, () => attempt(place)))
  await Promise.all([...calling, ...burst])
}

async function sign(url: string, { relayer_id, token }: Subject): Promise<number> {
  const response = await fetch(`${url}/api/v1/relayers/${relayer_id}/sign`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: '{"message":"Hello"}',
  })
  await response.arrayBuffer()
  return response.status
}

async function makeSubject(client: RelayerClient, network: string, name: string): Promise<Subject> {
  const { data: signer } = await available(() => client.post('/api/v1/signers', { body: { type: 'generated' } }))
  const { data: relayer } = await available(() =>
    client.post('/api/v1/relayers', {
      body: { name, network, network_type: 'evm', paused: false, signer_id: signer.id },
    }),
  )
  const { data: key } = await available(() =>
    client.post('/api/v1/api-keys', { body: { name, scopes: ['sign'], relayer_ids: [relayer.id] } }),
  )
  return { relayer_id: relayer.id, key_id: key.api_key.id, token: key.token }
}

export const isWell = ({ late, missed, wrong }: RevocationResult): boolean =>
  late.length + missed.length + wrong.length === 0
