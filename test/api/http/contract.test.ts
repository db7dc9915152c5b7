import { expect, onTestFinished, test, vi } from 'vitest'
import { mountContract, readContract, validatorSteps } from '../../../server/api/http/contract.ts'
import { validatorDocument } from '../../../server/api/http/validator-document.ts'
import { startTestService } from '../../support/service.ts'

test('mounts a validator with unknown steps as a whole, logs a warning, and returns the same responses', async () => {
  const warnings: object[] = []
  const logger = { warn: (fields: object) => warnings.push(fields) }
  const contract = await mountContract(readContract(), logger as never, (document) =>
    validatorSteps(document).map((step) => Object.defineProperty(step, 'name', { value: `new ${step.name}` })),
  )
  expect(warnings).toEqual([{ steps: expect.arrayContaining(['new requestMiddleware']) }])
  const { url, api_key } = await startTestService({}, { contract })

  const ask = async (path: string, body?: object) => {
    const headers = { Authorization: `Bearer ${api_key}`, 'Content-Type': 'application/json' }
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
    const response = await fetch(`${url}/api/v1/${path}`, init)
    return { status: response.status, body: await response.json() }
  }
  expect(await ask('relayers/demo/sign', { message: 'Hello' })).toMatchObject({ status: 200, body: { success: true } })
  expect(await ask('relayers?page=1')).toMatchObject({ status: 200, body: { pagination: { per_page: 10 } } })
  expect(await ask('relayers/demo/sign', { message: 1 })).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', details: [{ path: '/body/message' }] },
  })
  expect(await ask('relayers/nobody')).toMatchObject({ status: 404, body: { code: 'not_found' } })
})

/** Counts the functions that Ajv compiles until the test ends. */
function countCompiled(): () => number {
  let compiled = 0
  const countingFunction = new Proxy(Function, {
    construct(target, parameters: string[]) {
      compiled += 1
      return Reflect.construct(target, parameters)
    },
  })
  vi.stubGlobal('Function', countingFunction)
  onTestFinished(() => void vi.unstubAllGlobals())
  return () => compiled
}

test('compiles what signs and sends while no requests arrive, and the rest at its first request', async () => {
  const contract = await mountContract(readContract(), { warn() {} })
  const compiled = countCompiled()
  let becomeQuiet = () => {}
  const quiet = new Promise<void>((resolve) => {
    becomeQuiet = resolve
  })
  const warmUp = contract.warmUp(() => quiet)
  expect(compiled()).toBe(0)
  becomeQuiet()
  await warmUp
  const first = compiled()
  expect(first).toBeGreaterThan(10)
  const compile = (id: string) => contract.operations.find((operation) => operation.id === id)?.compile()
  expect(compile('signMessage')).toBeUndefined()
  expect(compile('sendTransaction')).toBeUndefined()
  await compile('createNetwork')
  expect(compiled()).toBeGreaterThan(first)
})

test('compiles equal schemas of several operations once', async () => {
  const { operations } = await mountContract(readContract(), { warn() {} })
  const compiled = countCompiled()
  const compile = async (id: string) => {
    await operations.find((operation) => operation.id === id)?.compile()
    return compiled()
  }
  const first = await compile('getHealth')
  expect(first).toBeGreaterThan(0)
  expect(await compile('getReadiness')).toBe(first)
  expect(await compile('listRelayers')).toBeGreaterThan(first)
})

test.each([
  ['contains itself', { properties: { inner: { $ref: '#/components/schemas/Failure' } } }, 'contains itself'],
  ['has a keyword beside a reference', { $ref: '#/components/schemas/Signer', maxProperties: 1 }, 'Keywords beside'],
])('refuses a schema that %s at startup', (_, schema, message) => {
  const document = readContract()
  document.components.schemas.Failure = schema
  expect(() => validatorDocument(document, { failures: true })).toThrow(message)
})
