import { expect, test } from 'vitest'
import { nearestPath } from '../../../server/api/http/request-target.ts'

const paths = [
  '/api/v1/relayers',
  '/api/v1/relayers/{relayer_id}',
  '/api/v1/relayers/{relayer_id}/transactions',
  '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}',
  '/api/v1/networks/{network_id}',
]

test.each([
  ['/api/v1/relayer', '/api/v1/relayers'],
  ['/api/v1/relayers/demo/transaction', '/api/v1/relayers/demo/transactions'],
  ['/relayers', '/api/v1/relayers'],
  ['/relayers/demo/transactions', '/api/v1/relayers/demo/transactions'],
  ['/api/v2/relayers/demo/', '/api/v1/relayers/demo'],
  ['/api/v1/relayers/demo/transactions/7/attempt/1', '/api/v1/relayers/demo/transactions/7'],
  ['/wp-admin/setup-config.php', undefined],
  [`/${'a'.repeat(10_000)}`, undefined],
])('%s: %s', (requested, nearest) => expect(nearestPath(paths, requested)).toBe(nearest))
