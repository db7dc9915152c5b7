import { expect, test } from 'vitest'
import type { LoginTrust } from '../../../server/domain/rows.ts'
import { unique } from './resources.ts'
import { onEveryStore } from './stores.ts'

const [right, wrong, other] = ['right', 'wrong', 'other'].map((text) => Buffer.from(text.padEnd(32))) as [
  Buffer,
  Buffer,
  Buffer,
]
type Step = [
  pin: Buffer,
  trust: LoginTrust,
  answer: 'try' | 'busy' | 'refused',
  outcome?: 'accepted' | 'refused' | 'unknown',
]

const histories: [string, Step[]][] = [
  [
    'tries none of a caller after the token refused one',
    [
      [wrong, 'caller', 'try', 'refused'],
      [wrong, 'caller', 'refused'],
      [other, 'caller', 'refused'],
      [right, 'caller', 'refused'],
    ],
  ],
  [
    'tries the setting once, and another setting once',
    [
      [wrong, 'operator', 'try', 'refused'],
      [wrong, 'operator', 'refused'],
      [right, 'operator', 'try', 'accepted'],
      [right, 'caller', 'try'],
    ],
  ],
  [
    'tries any of an administrator, and permits callers again after it is accepted',
    [
      [wrong, 'caller', 'try', 'refused'],
      [wrong, 'administrator', 'try', 'refused'],
      [right, 'administrator', 'try', 'accepted'],
      [right, 'caller', 'try', 'accepted'],
      [wrong, 'caller', 'try', 'refused'],
      [other, 'caller', 'refused'],
      [right, 'caller', 'try'],
    ],
  ],
  [
    'forgets the accepted one when the token refuses it',
    [
      [right, 'operator', 'try', 'accepted'],
      [right, 'operator', 'try', 'refused'],
      [right, 'operator', 'refused'],
    ],
  ],
  [
    'tries again what the token did not see',
    [
      [right, 'caller', 'try', 'unknown'],
      [other, 'caller', 'try', 'unknown'],
    ],
  ],
  [
    'lets the others wait for a login',
    [
      [right, 'caller', 'try'],
      [right, 'caller', 'busy'],
      [other, 'administrator', 'busy'],
    ],
  ],
]

onEveryStore((opened) => {
  test.each(histories)('%s', async (_, steps) => {
    const { store } = opened()
    const token = unique('token')
    for (const [index, [pin, trust, answer, outcome]] of steps.entries()) {
      expect(await store.beginLogin(token, pin, trust), `step ${index}`).toBe(answer)
      if (outcome) await store.endLogin(token, pin, outcome)
    }
  })

  test('lets one of many callers try at a time', async () => {
    const { store } = opened()
    const token = unique('token')
    const pins = Array.from({ length: 20 }, (_, index) => Buffer.from(`${index}`.padEnd(32)))
    const answers = await Promise.all(pins.map((pin) => store.beginLogin(token, pin, 'caller')))
    expect(answers.filter((answer) => answer === 'try')).toHaveLength(1)
  })

  test('counts a login that was cut off as refused for callers, and tries the setting again', async () => {
    const { store, clock } = opened()
    const token = unique('token')
    expect(await store.beginLogin(token, right, 'operator')).toBe('try')
    clock.ms += 11_000
    expect(await store.beginLogin(token, other, 'caller')).toBe('refused')
    expect(await store.beginLogin(token, right, 'operator')).toBe('try')
    clock.ms -= 11_000
  })
})
