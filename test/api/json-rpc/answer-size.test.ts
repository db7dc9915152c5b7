import { expect, test } from 'vitest'
import { ApiError } from '../../../server/api/http/errors.ts'
import { AnswerSize } from '../../../server/api/json-rpc/answer-size.ts'

const answer = (result: unknown) => ({ jsonrpc: '2.0' as const, id: 1, result })

test('replaces large answers for which the caller has no share left, and keeps small ones', () => {
  let heldBytes = 0
  const answerSize = new AnswerSize((bytes) => {
    if (bytes > 300_000) throw new ApiError('rate_limited', 'Too Many Requests', [{ path: 'a', message: 'no room' }])
    heldBytes = bytes
  })
  const large = answer('x'.repeat(200_000))
  const hash = answer(`0x${'ab'.repeat(32)}`)
  expect(answerSize.limit(large)).toBe(large)
  expect(answerSize.limit(large)).toMatchObject({ id: 1, error: { code: -32_005, message: 'limit exceeded: no room' } })
  expect(answerSize.limit(hash)).toBe(hash)
  expect(heldBytes).toBe(200_008)
})
