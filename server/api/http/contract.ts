import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'node:url'
import type { ErrorRequestHandler, NextFunction, Request, RequestHandler, Response } from 'express'
import { middleware } from 'express-openapi-validator'
import type { Logger } from 'pino'
import { yieldToEventLoop } from '../../lib/timers.ts'
import { type ContractDocument, describeOperations, namesIn, type OperationFacts } from './document.ts'
import { isTime } from './schema-check.ts'
import { closeObjects, SharedKeys, validatorDocument } from './validator-document.ts'
import { isViolation, RequestViolations, requestViolation } from './violation.ts'

/** An operation of the contract, with its checks. */
export interface Operation extends OperationFacts {
  /** Express middleware: validates parameters and body, and sets defaults of the query. Fails with ApiError (400). */
  checkRequest: (RequestHandler | ErrorRequestHandler)[]
  /** Throws when the body of the success violates the contract. Undefined: Express's `response.json` validates it. */
  checkResponse: ((body: unknown) => void) | undefined
  /**
   * Compiles the checks, each in a turn of the event loop of its own; it takes 10 to 30 ms. Undefined: they are compiled. First
   * requests of several operations would otherwise compile all of their checks in one turn.
   */
  compile(): Promise<void> | undefined
}

export interface Contract {
  document: ContractDocument
  operations: Operation[]
  /**
   * Compiles the checks of the operations that sign and send, each after `untilQuiet` has resolved: requests of a burst after the start
   * would wait for them together. Those of the others would take a second and 20 MB of each process.
   */
  warmUp(untilQuiet: () => Promise<void>): Promise<void>
}

type Step = RequestHandler

const contractFile = join(import.meta.dirname, '..', '..', '..', 'generated', 'openapi.json')
const knownSteps = [
  'pathParamsMiddleware',
  'metadataMiddleware',
  'securityMiddleware',
  'requestMiddleware',
  'responseMiddleware',
]

/** The contract as the server checks it: closed. Throws ENOENT when `generated/` lacks it. */
export const readContract = (): ContractDocument => closeObjects(JSON.parse(readFileSync(contractFile, 'utf8')))

/**
 * Mounts the contract on express-openapi-validator, through its public entry. As a whole, its middleware searches all paths for
 * every request, which takes twice the time of everything else. The middleware is an array of named steps. The metadata step, which
 * finds the operation, runs here once per operation, and its result is kept. A request runs only the request and response steps of
 * its operation. If a later version returns other steps, the middleware is mounted as a whole: slower, never wrong.
 */
export async function mountContract(
  document: ContractDocument,
  logger: Pick<Logger, 'warn'>,
  createSteps: CreateSteps = validatorSteps,
): Promise<Contract> {
  const separate = createSteps(validatorDocument(document, { failures: false }))
  warnOfUrlParse()
  const stepNames = separate.map(({ name }) => name)
  const isKnown = stepNames.join() === knownSteps.join()
  if (!isKnown)
    logger.warn(
      { steps: stepNames },
      'contract validator has unexpected steps: mounted as a whole, requests are slower',
    )
  const steps = isKnown ? separate : createSteps(validatorDocument(document, { failures: true }))
  const names = namesIn(document)
  const violations = new RequestViolations(document)
  const sharedKeys = new SharedKeys()
  const operations = await Promise.all(
    describeOperations(document).map(async (facts): Promise<Operation> => {
      const tellViolation: ErrorRequestHandler = (error, request, _response, next) =>
        next(isViolation(error) ? requestViolation(error, names, () => violations.in(facts, request)) : error)
      if (!isKnown) return { ...facts, ...mountedWhole(steps, tellViolation) }
      const checks = await checksOf(facts, steps, sharedKeys, tellViolation)
      return { ...facts, ...checks, compile: compiler(facts, checks) }
    }),
  )
  return {
    document,
    operations,
    async warmUp(untilQuiet) {
      for (const { roles, compile } of operations) {
        if (!roles.includes('sign') && !roles.includes('send')) continue
        await untilQuiet()
        await compile()
      }
    },
  }
}

type CreateSteps = (document: ContractDocument) => Step[]

/** The validator's own middleware for the document. */
export const validatorSteps: CreateSteps = (document) =>
  middleware({
    apiSpec: document as never,
    validateApiSpec: false,
    validateRequests: { allowUnknownQueryParameters: false, coerceTypes: false, allErrors: true },
    validateResponses: { coerceTypes: false },
    validateSecurity: false,
    validateFormats: true,
    ajvFormats: { mode: 'full' },
    formats: { 'date-time': { type: 'string', validate: isTime } },
    fileUploader: false,
  }) as unknown as Step[]

/**
 * The validator calls `url.parse` for every request. Until Node has emitted its deprecation warning once, each call takes a stack
 * trace to see which package calls it, which costs a tenth of a request. This emits the warning, without printing it.
 */
function warnOfUrlParse(): void {
  const { noDeprecation = false } = process
  process.noDeprecation = true
  parse('/')
  process.noDeprecation = noDeprecation
}

type Checks = Pick<Operation, 'checkRequest' | 'checkResponse'>

/** The fallback: the validator finds the operation itself, and validates the response inside `response.json`. */
const mountedWhole = (steps: Step[], tellViolation: ErrorRequestHandler): Checks & Pick<Operation, 'compile'> => ({
  checkRequest: [...steps, tellViolation],
  checkResponse: undefined,
  compile: () => undefined,
})

/** The result of the validator's metadata step. */
interface Found {
  expressRoute: string
  schema: { parameters?: unknown; requestBody?: unknown; responses: unknown }
}

async function checksOf(
  facts: OperationFacts,
  steps: Step[],
  sharedKeys: SharedKeys,
  tellViolation: ErrorRequestHandler,
): Promise<Checks> {
  const [pathParams, metadata, , requestStep, responseStep] = steps as [Step, Step, Step, Step, Step]
  const method = facts.method.toUpperCase()
  const path = facts.path.replaceAll(/\{\w+\}/g, '0')
  const sample = { method, path, originalUrl: path, url: path, baseUrl: '', app: sampleApp }
  // The first step waits until the document is read, and throws its errors.
  await run(pathParams, sample)
  await run(metadata, sample)
  const { openapi } = sample as { openapi?: Found }
  if (!openapi) throw new Error(`The validator does not find the operation ${facts.id}`)
  const { schema, expressRoute } = openapi
  const key = { method, expressRoute }
  const requestKey = sharedKeys.of([schema.parameters, schema.requestBody], key)
  const responseKey = sharedKeys.of(schema.responses, key)
  // The query is parsed already, so the validator gets no URL to parse again.
  const known = { path, originalUrl: '/', method: requestKey.method }
  const operation = { ...openapi, expressRoute: requestKey.expressRoute }
  const answered = {
    ...known,
    method: responseKey.method,
    openapi: { ...openapi, expressRoute: responseKey.expressRoute },
    headers: jsonHeaders,
  } as unknown as Request

  return {
    // The validator gets an object of its own, because properties that it adds make Express's request slower to use.
    checkRequest: [
      ({ headers, params, query, body }: Request, response: Response, next: NextFunction) => {
        const request = { ...known, openapi: { ...operation, pathParams: params }, headers, params, query, body }
        requestStep(request as unknown as Request, response, next)
      },
      tellViolation,
    ],
    checkResponse: await responseCheck(responseStep, answered, facts.status),
  }
}

/** The step wraps `json` of a response by a validation. It runs once, on a probe, and the wrapper is kept. */
async function responseCheck(step: Step, request: Request, status: number): Promise<(body: unknown) => void> {
  let violation: unknown
  const probe = { statusCode: status, headersSent: false, getHeaders: () => jsonHeaders, json(_body: unknown) {} }
  await new Promise<void>((resolve) => {
    step(request, probe as unknown as Response, (error?: unknown) => {
      violation = error
      resolve()
    })
  })
  const { json } = probe
  return (body) => {
    violation = undefined
    json(body)
    if (violation !== undefined) throw violation
  }
}

const jsonHeaders = { 'content-type': 'application/json' }
const sampleApp = { param() {}, enabled: () => true }

const run = (step: Step, request: object): Promise<void> =>
  new Promise((resolve, reject) => {
    step(request as Request, {} as Response, (error?: unknown) => (error ? reject(error as Error) : resolve()))
  })

/** A check is compiled at its first use, even when it fails. */
function compiler(
  { mediaTypes }: Pick<OperationFacts, 'mediaTypes'>,
  { checkRequest, checkResponse }: Checks,
): Operation['compile'] {
  let compiling: Promise<void> | undefined
  let isCompiled = false
  const compileInSteps = async () => {
    for (const mediaType of mediaTypes.length > 0 ? mediaTypes : [undefined]) {
      await yieldToEventLoop()
      const headers = mediaType === undefined ? {} : { 'content-type': mediaType }
      await run(checkRequest[0] as Step, { headers, params: {}, query: {}, body: {} }).catch(() => {})
    }
    await yieldToEventLoop()
    ignoreErrors(() => checkResponse?.({}))
    isCompiled = true
  }
  return () => {
    if (isCompiled) return undefined
    compiling ??= compileInSteps()
    return compiling
  }
}

function ignoreErrors(work: () => void): void {
  try {
    work()
  } catch {}
}
