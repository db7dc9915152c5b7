import { expect, onTestFinished, test } from 'vitest'
import { newDatabase } from '../support/postgres.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const gauge = 'relayer_transactions_unfinished{status="pending"}'
const hasGauge = async ({ metrics_url }: TestService) =>
  (await (await fetch(metrics_url as string)).text()).includes(gauge)

test('exposes the gauges of the database on one of several servers, and on another one when it stops', async () => {
  const { url: DatabaseUrl, drop } = await newDatabase()
  onTestFinished(drop)
  const settings = {
    DATABASE_URL: DatabaseUrl,
    DATABASE_TIMEOUT_MS: '10000',
    METRICS_PORT: '0',
    API_KEY: 'k'.repeat(40),
    MASTER_KEY: '5a'.repeat(32),
  }
  const [one, two] = [await startTestService(settings), await startTestService(settings)]
  expect([await hasGauge(one), await hasGauge(two), await hasGauge(one)]).toEqual([true, false, true])
  await one.close()
  await until('the other has the gauges', () => hasGauge(two))
})
