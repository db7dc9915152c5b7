import { describe, expect, test } from 'vitest'
import { type CountFacts, judgeCount } from '../../server/domain/nonce-verdict.ts'
import { Proof } from '../../server/domain/proof.ts'

type Facts = CountFacts<{ at_least: number; head: number }, { nonce: number; hash: string }>

const counted = (atLeast: number, head = 100) => new Proof({ at_least: atLeast, head })
const signed = (nonce: number) => new Proof({ nonce, hash: '0xa' })
/** Ten nonces are assigned; one endpoint; the doubt began at the newest block. */
const base: Facts = {
  next_nonce: 10,
  counted: counted(12),
  signed: undefined,
  isWitnessed: false,
  from_block: 100,
  request: undefined,
}
const later: Partial<Facts> = { counted: counted(12, 103) }

describe('the verdict on a count above the nonce counter', () => {
  test.each<[title: string, facts: Partial<Facts>, verdict: object]>([
    ['too few endpoints answer: it waits', { counted: undefined }, { do: 'wait' }],
    ['too few answer, though bytes are shown', { counted: undefined, signed: signed(11) }, { do: 'wait' }],
    ['most count no more than is assigned', { counted: counted(10) }, { do: 'use', latest: 10 }],
    ['most count less', { counted: counted(3) }, { do: 'use', latest: 3 }],
    ['signed bytes raise it', { signed: signed(11) }, { do: 'raise', to: 12, evidence: 'signed transaction 0xa' }],
    ['bytes of an assigned nonce prove nothing', { signed: signed(9) }, { do: 'wait' }],
    ['bytes beyond the count prove nothing', { signed: signed(12) }, { do: 'wait' }],
    ['one endpoint, at first', {}, { do: 'wait' }],
    ['one endpoint, after two blocks', { counted: counted(12, 102) }, { do: 'wait' }],
    ['one endpoint, after three blocks', later, { do: 'disable' }],
    ['several, at first', { isWitnessed: true }, { do: 'wait' }],
    [
      'several, after three blocks',
      { ...later, isWitnessed: true },
      { do: 'raise', to: 12, evidence: 'most endpoints' },
    ],
    ['several, by 64', { isWitnessed: true, counted: counted(74, 103) }, { do: 'raise', to: 74 }],
    ['several, by 65', { isWitnessed: true, counted: counted(75, 103) }, { do: 'disable' }],
    ['on request by several', { isWitnessed: true, request: { stated: undefined } }, { do: 'raise', to: 12 }],
    ['on request by one', { request: { stated: undefined } }, { do: 'wait' }],
    ['the operator states a count', { request: { stated: 11 } }, { do: 'raise', to: 11 }],
    ['a stated count that is assigned', { request: { stated: 10 } }, { do: 'wait' }],
    [
      'a stated count above that of the endpoints',
      { request: { stated: 13 } },
      { do: 'refuse', stated: 13, counted: 12 },
    ],
    ['one far below', { counted: counted(90), request: { stated: 25 } }, { do: 'refuse', stated: 25, counted: 90 }],
  ])('%s', (_, facts, verdict) => {
    expect(judgeCount({ ...base, ...facts })).toMatchObject(verdict)
  })

  test('raises and disables by a proof only', () => {
    for (const facts of [{ signed: signed(11) }, { ...later, isWitnessed: true }, later]) {
      const verdict = judgeCount({ ...base, ...facts })
      expect('proof' in verdict && verdict.proof).toBeInstanceOf(Proof)
    }
  })
})
