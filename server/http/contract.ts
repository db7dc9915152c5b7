import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'node:url'
import type { ErrorRequestHandler, NextFunction, Request, RequestHandler, Response } from 'express'
import { middleware } from 'express-openapi-validator'
import type { Logger } from 'pino'
import {
  type ContractDocument,
  describeOperations,
  namesIn,
  type OperationFacts,
  validatorDocument,
} from './document.ts'
import { isTime } from './time-format.ts'
import { isViolation, requestViolation } from './violation.ts'

/** An operation of the contract, with its checks. */
export interface Operation extends OperationFacts {
  /** Express middleware: validates parameters and body, and sets defaults of the query. Fails with ApiError (400). */
  checkRequest: (RequestHandler | ErrorRequestHandler)[]
  /** Throws when the body of the success violates the contract. Undefined: Express's `response.json` validates it. */
  checkResponse: ((body: unknown) => void) | undefined
}

export interface Contract {
  document: ContractDocument
  operations: Operation[]
  /**
   * Compiles the checks of the operations one by one and yields to the event loop in between. Otherwise first requests compile
   * them.
   */
  warmUp(): Promise<void>
}

type Step = RequestHandler

const contractFile = join(import.meta.dirname, '..', '..', 'generated', 'openapi.json')
const known_steps = [
  'pathParamsMiddleware',
  'metadataMiddleware',
  'securityMiddleware',
  'requestMiddleware',
  'responseMiddleware',
]

/** Throws ENOENT when `generated/` lacks the contract. */
export const readContract = (): ContractDocument => JSON.parse(readFileSync(contractFile, 'utf8'))

/**
 * Mounts the contract on express-openapi-validator, through its public entry. As a whole, its middleware searches all paths for
 * every request, which takes twice the time of everything else. The middleware is an array of named steps. The metadata step, which
 * finds the operation, runs here once per operation, and its result is kept. A request runs only the request and response steps of
 * its operation. If a later version returns other steps, the middleware is mounted as a whole: slower, never wrong.
 */
export async function mountContract(document: ContractDocument, logger: Pick<Logger, 'warn'>): Promise<Contract> {
  const steps = middleware({
    apiSpec: validatorDocument(document) as never,
    validateApiSpec: false,
    validateRequests: { allowUnknownQueryParameters: false, coerceTypes: false, allErrors: true },
    validateResponses: { coerceTypes: false },
    validateSecurity: false,
    validateFormats: true,
    ajvFormats: { mode: 'full' },
    formats: { 'date-time': { type: 'string', validate: isTime } },
    fileUploader: false,
    serDes: [],
  }) as unknown as Step[]
  warnOfUrlParse()
  const names = steps.map(({ name }) => name)
  const isKnown = names.join() === known_steps.join()
  if (!isKnown)
    logger.warn({ steps: names }, 'contract validator has unexpected steps: mounted as a whole, requests are slower')
  const tellViolation = violationTeller(namesIn(document))
  const operations = await Promise.all(
    describeOperations(document).map(async (facts): Promise<Operation> => {
      return {
        ...facts,
        ...(isKnown ? await checksOf(facts, steps, tellViolation) : mountedWhole(steps, tellViolation)),
      }
    }),
  )
  return {
    document,
    operations,
    warmUp: () => (isKnown ? warmUp(operations) : Promise.resolve()),
  }
}

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
const mountedWhole = (steps: Step[], tellViolation: ErrorRequestHandler): Checks => ({
  checkRequest: [...steps, tellViolation],
  checkResponse: undefined,
})

async function checksOf(facts: OperationFacts, steps: Step[], tellViolation: ErrorRequestHandler): Promise<Checks> {
  const [pathParams, metadata, , requestStep, responseStep] = steps as [Step, Step, Step, Step, Step]
  const method = facts.method.toUpperCase()
  const path = facts.path.replaceAll(/\{\w+\}/g, '0')
  const sample = { method, path, originalUrl: path, url: path, baseUrl: '', app: sampleApp }
  // The first step waits until the document is read, and throws its errors.
  await run(pathParams, sample)
  await run(metadata, sample)
  const { openapi } = sample as { openapi?: object }
  if (!openapi) throw new Error(`The validator does not find the operation ${facts.id}`)
  // The query is parsed already, so the validator gets no URL to parse again.
  const known = { method, path, originalUrl: '/' }
  const answered = { ...known, openapi, headers: jsonHeaders } as unknown as Request

  return {
    // The validator gets an object of its own, because properties that it adds make Express's request slower to use.
    checkRequest: [
      ({ headers, params, query, body }: Request, response: Response, next: NextFunction) => {
        const request = { ...known, openapi: { ...openapi, pathParams: params }, headers, params, query, body }
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

const violationTeller =
  (names: ReadonlySet<string>): ErrorRequestHandler =>
  (error, _request, _response, next) =>
    next(isViolation(error) ? requestViolation(error, names) : error)

const jsonHeaders = { 'content-type': 'application/json' }
const sampleApp = { param() {}, enabled: () => true }

const run = (step: Step, request: object): Promise<void> =>
  new Promise((resolve, reject) => {
    step(request as Request, {} as Response, (error?: unknown) => (error ? reject(error as Error) : resolve()))
  })

/** A check is compiled at its first use, even when it fails. */
async function warmUp(operations: Operation[]): Promise<void> {
  for (const { mediaTypes, checkRequest, checkResponse } of operations) {
    for (const mediaType of mediaTypes.length > 0 ? mediaTypes : [undefined]) {
      const headers = mediaType === undefined ? {} : { 'content-type': mediaType }
      const request = { headers, params: {}, query: {}, body: {} }
      await run(checkRequest[0] as Step, request).catch(() => {})
      ignoreErrors(() => checkResponse?.({}))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

function ignoreErrors(work: () => void): void {
  try {
    work()
  } catch {}
}
