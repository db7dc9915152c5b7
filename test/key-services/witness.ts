import { setTimeout as pause } from 'node:timers/promises'
import { Transaction, verifyMessage, verifyTypedData } from 'ethers'
import { RelayerError } from '../../client/index.ts'
import type { Account, Rig } from '../support/rig.ts'

/** What callers heard who asked for signatures meanwhile. */
export interface Heard {
  signed: number
  /** 503 with Retry-After. */
  unavailable: number
  /** Signatures by another key, or with a high s; 0 is wanted. */
  wrong: number
  /** Other failures, each once; none is wanted. */
  failures: string[]
  /** The most signatures that waited for the key service. */
  waited: number
}

/** Seldom: a throttled key service has little for others. */
const everyMs = 2_000
const lookMs = 250
const types = { Mail: [{ name: 'text', type: 'string' }] }
const domain = { name: 'Test', chainId: 31_337 }

/** Signs messages with the account, and with a local key, again and again until `stop`. */
export function startWitness(rig: Rig, account: Account, type: string): { stop(): Promise<Heard> } {
  const heard: Heard = { signed: 0, unavailable: 0, wrong: 0, failures: [], waited: 0 }
  const underWay: Promise<void>[] = []
  let isStopped = false

  async function sign(relayerId: string, address: string | undefined): Promise<void> {
    const message = `Hello ${underWay.length}`
    try {
      const { data } = await rig
        .client()
        .post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id: relayerId }, body: { message } })
      if (address === undefined) return
      if (isBy(address, verifyMessage(message, data.sig), data.s)) heard.signed += 1
      else heard.wrong += 1
    } catch (error) {
      // A service that is restarted answers nobody.
      if (!(error instanceof RelayerError)) return
      if (address !== undefined && error.status === 503) heard.unavailable += 1
      else note(heard, `${address === undefined ? 'another relayer' : 'signing'}: ${error.status} ${error.message}`)
    }
  }

  async function repeat(): Promise<void> {
    for (let look = 0; !isStopped; look += 1) {
      if ((look * lookMs) % everyMs === 0) {
        underWay.push(sign(account.relayer_id, account.address), sign('demo', undefined))
      }
      const { waiting } = await readCalls(rig, type).catch(() => ({ waiting: 0 }))
      heard.waited = Math.max(heard.waited, waiting)
      await pause(lookMs)
    }
  }
  const repeated = repeat()
  return {
    async stop() {
      isStopped = true
      await repeated
      await Promise.all(underWay)
      return heard
    },
  }
}

/** Signs a message, typed data and transactions, and counts the failures. A type that cannot sign typed data returns 422. */
export async function signForms(rig: Rig, { relayer_id, address }: Account, hasTypedData: boolean): Promise<Heard> {
  const heard: Heard = { signed: 0, unavailable: 0, wrong: 0, failures: [], waited: 0 }
  const path = { relayer_id }
  const client = rig.client()
  const count = (isRight: boolean) => {
    heard[isRight ? 'signed' : 'wrong'] += 1
  }
  const { data: message } = await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hi' } })
  count(isBy(address, verifyMessage('Hi', message.sig), message.s))
  try {
    const body = { domain, types, primaryType: 'Mail', message: { text: 'Hi' } }
    const { data } = await client.post('/api/v1/relayers/{relayer_id}/sign-typed-data/full', { path, body })
    count(isBy(address, verifyTypedData(domain, types, { text: 'Hi' }, data.sig), data.s))
  } catch (error) {
    if (hasTypedData || !(error instanceof RelayerError) || error.status !== 422) throw error
  }
  for (const type of [0, 2]) {
    const unsignedTransaction = Transaction.from({ type, chainId: 31_337, gasLimit: 21_000, to: address })
      .unsignedSerialized as `0x${string}`
    const { data } = await client.post('/api/v1/relayers/{relayer_id}/sign-transaction', {
      path,
      body: { unsigned_transaction: unsignedTransaction },
    })
    const { from, signature } = Transaction.from(data.signed_transaction)
    count(isBy(address, `${from}`, `${signature?.s}`))
  }
  return heard
}

const isBy = (address: string, signer: string, s: string) => signer.toLowerCase() === address && BigInt(s) < 2n ** 255n

export function note(heard: Pick<Heard, 'failures'>, failure: string): void {
  if (!heard.failures.includes(failure)) heard.failures.push(failure)
}

/** The metrics of a type of signer: calls by outcome, waiting signatures, and the duration of the calls. */
export async function readCalls(rig: Rig, type: string) {
  const lines = (await (await fetch(rig.metrics_url())).text()).split('\n').filter((line) => line.includes(`"${type}"`))
  const values = (name: string) =>
    lines
      .filter((line) => line.startsWith(`${name}{`))
      .map((line): [string, number] => [
        /outcome="(\w+)"/.exec(line)?.[1] ?? '',
        Number(line.slice(line.lastIndexOf(' '))),
      ])
  const [waiting = ['', 0]] = values('relayer_key_service_waiting')
  const sum = (name: string) => values(name).reduce((total, [, value]) => total + value, 0)
  return {
    outcomes: Object.fromEntries(values('relayer_key_service_calls_total')),
    waiting: waiting[1],
    mean_ms:
      (sum('relayer_key_service_call_duration_seconds_sum') * 1_000) /
      Math.max(1, sum('relayer_key_service_call_duration_seconds_count')),
  }
}
