import { expect, test } from 'vitest'
import { startTestService } from '../../support/service.ts'

const values = (count: number) => Array.from({ length: count }, () => '0x')

test('refuses a body with more values than any operation needs, and does not count commas in strings', async () => {
  const { raw } = await startTestService()
  const sign = (body: unknown) =>
    raw('/api/v1/relayers/demo/sign', { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
  expect((await sign({ message: ',"\\'.repeat(100_000) })).status).toBe(200)

  const crowded = [
    { message: values(10_001) },
    Object.fromEntries(values(10_001).map((value, index) => [index, value])),
    `{"message":[${'1,'.repeat(300_000)}1]}`,
  ]
  for (const body of crowded) {
    const answer = await sign(body)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({
      details: [{ path: '/body', message: 'must have at most 10000 values' }],
    })
  }
  const { details } = (await (await sign({ message: values(9_990) })).json()) as { details: { path: string }[] }
  expect(details.map(({ path }) => path)).toEqual(['/body/message'])
})
