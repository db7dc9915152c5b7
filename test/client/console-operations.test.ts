import { expect, test } from 'vitest'
import { operationOf, operationText } from '../../client/console/audit/operations.ts'

test.each([
  ['createApiKey', 'Create API key'],
  ['updateRelayer', 'Edit relayer'],
  ['deleteApiKey', 'Revoke API key'],
  ['reconcileRelayerNonce', 'Repair nonces'],
  ['callRelayerJsonRpc', 'Call relayer json RPC'],
])('names the operation %s as its button does, and finds it by that name', (id, text) => {
  expect(operationText(id)).toBe(text)
  expect(id.toLowerCase()).toContain(operationOf(text).toLowerCase())
})

test('finds operations by a part of their names', () => {
  expect(operationOf('Delete RELAYER')).toBe('deleterelayer')
  expect(operationOf('edit')).toBe('update')
})
