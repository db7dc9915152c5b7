import { expect, test } from 'vitest'
import { RelayerError, type SendTransactionRequest } from '../../client/index.ts'
import { contract } from '../support/contract.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const { description } = (contract as unknown as { tags: { name: string; description: string }[] }).tags.find(
  ({ name }) => name === 'Transactions',
) as { description: string }

interface Outcome {
  body: SendTransactionRequest
  outcome: string
}

/** The rows of the table of outcomes. */
const outcomes: Outcome[] = [...description.matchAll(/^\| `(\{.*\})` \| (.*) \|$/gm)].map(
  ([, body = '', outcome = '']) => ({
    body: JSON.parse(body),
    outcome,
  }),
)

test('each body of the reference ends as its table says', async () => {
  expect(outcomes.map(({ outcome }) => outcome)).toEqual([
    '`confirmed`',
    '400 `insufficient_funds`',
    '400 `execution_reverted`',
    '422 `gas_limit_too_low`',
    '400 `invalid_request`',
    expect.stringMatching(/^waits for `fee_too_low`; `canceled`/),
  ])
  const rig = await testRig()
  const client = rig.client()
  const { relayer_id } = await rig.addAccount()
  const send = async (body: SendTransactionRequest) =>
    client.transactions.send(relayer_id, body).then(
      ({ id }) => id,
      (error: unknown) => (error instanceof RelayerError ? `${error.status} \`${error.code}\`` : Promise.reject(error)),
    )
  const [confirmed, ...others] = outcomes as [Outcome, ...Outcome[]]
  const waiting = others.pop() as Outcome
  for (const { body, outcome } of others) expect(await send(body)).toBe(outcome)
  expect(await client.transactions.wait(relayer_id, await send(confirmed.body))).toMatchObject({ status: 'confirmed' })

  const id = await send(waiting.body)
  const now = () => client.transactions.getRelayerTransaction(relayer_id, id)
  await until('it waits', async () => (await now()).wait_reason === 'fee_too_low')
  await client.transactions.cancel(relayer_id, id)
  expect(await client.transactions.wait(relayer_id, id)).toMatchObject({ status: 'canceled' })

  const expiring = await send({ ...waiting.body, valid_until: new Date(Date.now() + 3_000).toISOString() })
  expect(await client.transactions.wait(relayer_id, expiring)).toMatchObject({ status: 'expired' })
})
