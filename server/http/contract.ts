import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AjvOptions } from 'express-openapi-validator/dist/framework/ajv/options.js'
import { RequestValidator } from 'express-openapi-validator/dist/middlewares/openapi.request.validator.js'
import { ResponseValidator } from 'express-openapi-validator/dist/middlewares/openapi.response.validator.js'
import { SchemaPreprocessor } from 'express-openapi-validator/dist/middlewares/parsers/schema.preprocessor.js'
import { ContentType } from 'express-openapi-validator/dist/middlewares/util.js'
import { ApiError, type Detail } from '../errors.ts'
import type { OperationId } from '../operation.ts'
import type { AmountPlaces } from './amount-places.ts'
import {
  amountsByOperation,
  answerReferences,
  type ContractOperation,
  type Document,
  dereference,
  headerReader,
  operationsOf,
  rolesOf,
  soleSuccess,
} from './document.ts'
import { type QueryReader, queryReader } from './query.ts'
import { code, formats, schemaKey, shareSchemas } from './schemas.ts'
import { shownName } from './shown-name.ts'

/**
 * The mounting of the contract on express-openapi-validator, and the one file that knows its insides (hence the pinned
 * version and a test that notices a change). Used as a whole, its middleware searches the contract's paths one by one,
 * parses the URL again, and caches a validator for every spelling of a Content-Type it is sent (200 KB each). What an
 * operation needs is known when the service starts: its own compiled checks, taken out here once, and called directly.
 */
export interface Operation {
  id: OperationId
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As the contract writes it. */
  path: string
  /** The one status of its success. */
  status: number
  /** Whether its success is a stream of events and no JSON. */
  streams: boolean
  /** Whether it asks for a token. */
  guarded: boolean
  /** What the token's key must be allowed. */
  roles: string[]
  /** Whether it declares 429, and so counts against the caller's rate. */
  limited: boolean
  /** The media types of its body; empty when it takes none. */
  mediaTypes: string[]
  /** Whether its body may be absent, which is the same as an empty object. */
  bodyIsOptional: boolean
  /** Where its body has amounts. */
  amounts: AmountPlaces | undefined
  readQuery: QueryReader
  /** The headers that the operation declares, under the contract's names. */
  readHeader(headers: Record<string, unknown>): Record<string, unknown>
  /** Fills in the defaults of the query. Throws ApiError (400) with every place that breaks the contract. */
  checkRequest(parts: RequestParts, mediaType: string | undefined): void
  /** Undefined when the body is what the contract promises for the status; else what is wrong with it. */
  checkResponse(status: number, body: unknown): string | undefined
}

export interface RequestParts {
  query: Record<string, unknown>
  headers: Record<string, unknown>
  params: Record<string, unknown>
  body: unknown
}

/** A compiled check of Ajv's, with what it found wrong last. */
interface Check {
  (data: unknown): boolean
  errors?: { instancePath: string; message?: string; params: Record<string, unknown> }[] | null
}

const max_details = 20

export interface Contract {
  operations: Operation[]
  /** Says what is wrong with a value by a schema of the contract's; undefined when nothing is. */
  checkSchema(name: string): (value: unknown) => string | undefined
}

const contractFile = join(import.meta.dirname, '..', '..', 'generated', 'openapi.json')

/** Throws ENOENT when it was never generated. */
export const readContract = (): unknown => JSON.parse(readFileSync(contractFile, 'utf8'))

/** `document`: generated/openapi.json, parsed; it is taken over and changed. Compiles every check of every operation. */
export function compileContract(document: unknown): Contract {
  const amounts = amountsByOperation(document as Document)
  const references = answerReferences(document as Document)
  const { requests, responses, apiDoc, apiDocRes } = createValidators(document)
  const answersOf = sharedAnswers(responses)
  const parameters = (document as Document).components.parameters

  const operations = operationsOf(apiDoc as unknown as Document).map(
    ({ path, method, operation, response }): Operation => {
      const key = `${method} ${path}`
      const declared = (operation.parameters ?? []).map((parameter) => dereference(parameter, parameters))
      const mediaTypes = Object.keys(operation.requestBody?.content ?? {})
      const bodyIsOptional = mediaTypes.length > 0 && operation.requestBody?.required !== true
      const checks = new Map(
        (mediaTypes.length > 0 ? mediaTypes : [undefined]).map((mediaType) => [
          mediaType,
          requestCheck(requests, path, operation, key, mediaType),
        ]),
      )
      const answers = answersOf(references.get(key) ?? {}, response(apiDocRes as unknown as Document), key)

      return {
        id: operation.operationId,
        method,
        path,
        status: soleSuccess(operation),
        streams: JSON.stringify(operation.responses['200'] ?? {}).includes('text/event-stream'),
        guarded: operation.security?.length !== 0,
        roles: rolesOf(operation),
        limited: '429' in operation.responses,
        mediaTypes,
        bodyIsOptional,
        amounts: amounts.get(key),
        readQuery: queryReader(declared),
        readHeader: headerReader(declared),
        checkRequest: (parts, mediaType) => checks.get(mediaType)?.(parts),
        checkResponse(status, body) {
          const check = answers[status]?.['application/json'] ?? answers.default?.['application/json']
          if (!check) return `no answer with status ${status} is declared`
          return check({ response: body }) ? undefined : describe(check)
        },
      }
    },
  )

  return {
    operations,
    checkSchema(name) {
      const check = (responses as unknown as Responses).ajvBody.getSchema(schemaKey(name))
      if (!check) throw new Error(`The contract has no schema ${name}`)
      return (value) => (check(value) ? undefined : describe(check))
    },
  }
}

/** The validator's two halves, and what it makes of the document for each. */
function createValidators(document: unknown) {
  const validateResponses = { removeAdditional: false, coerceTypes: false }
  const options = new AjvOptions({
    validateRequests: { allowUnknownQueryParameters: false, coerceTypes: false },
    validateResponses,
    validateFormats: true,
    ajvFormats: { mode: 'full' },
    serDes: [],
    formats: {},
  } as never)
  const { apiDoc, apiDocRes } = new SchemaPreprocessor(
    document as never,
    options.preprocessor,
    true as never,
  ).preProcess()
  const requestSchemas = shareSchemas(apiDoc as unknown as Document)
  const answerSchemas = shareSchemas(apiDocRes as unknown as Document)
  const requests = new RequestValidator(requestSchemas.around as never, { ...options.request, code, formats } as never)
  const responses = new ResponseValidator(
    answerSchemas.around as never,
    { ...options.response, code, formats } as never,
    validateResponses as never,
  )
  const { ajv, ajvBody } = requests as unknown as Requests
  requestSchemas.addTo(ajv)
  requestSchemas.addTo(ajvBody)
  answerSchemas.addTo((responses as unknown as Responses).ajvBody)
  return { requests, responses, apiDoc, apiDocRes }
}

/** The checks of an operation's answers by status; a response that several operations name is compiled once. */
function sharedAnswers(validator: ResponseValidator) {
  const shared = new Map<string, Record<string, Check>>()
  return (references: Record<string, string>, responses: Record<string, unknown>, key: string) =>
    Object.fromEntries(
      Object.entries(responses).map(([status, response]) => {
        const name = references[status] ?? `${key} ${status}`
        const known = shared.get(name)
        const built = known ?? (validator as unknown as Responses).buildValidators({ [status]: response }, name)[status]
        shared.set(name, built ?? {})
        return [status, built ?? {}]
      }),
    )
}

interface Ajv {
  getSchema(key: string): Check | undefined
  addSchema(schema: object, key: string): unknown
}

interface Responses {
  ajvBody: Ajv
  buildValidators(responses: unknown, key: string): Record<string, Record<string, Check>>
}

interface Requests {
  buildMiddleware(path: string, operation: unknown, contentType: unknown, key: string): unknown
  ajv: Ajv
  ajvBody: Ajv
}

/** Has the validator build its middleware, and takes from it the two compiled checks that the middleware would call. */
function requestCheck(
  validator: RequestValidator,
  path: string,
  operation: ContractOperation,
  operationKey: string,
  mediaType: string | undefined,
) {
  const requests = validator as unknown as Requests
  const key = `${operationKey} ${mediaType}`
  requests.buildMiddleware(path, operation, ContentType.fromString(mediaType as string), key)
  const general = requests.ajv.getSchema(key)
  const body = requests.ajvBody.getSchema(key)
  if (!general || !body) throw new Error(`express-openapi-validator kept no checks for ${key}`)

  return (parts: RequestParts) => {
    const generalHolds = general(parts)
    const bodyHolds = body(parts)
    if (generalHolds && bodyHolds) return
    throw new ApiError(
      'bad_request',
      'Bad Request',
      [...(generalHolds ? [] : detailsOf(general)), ...(bodyHolds ? [] : detailsOf(body))].slice(0, max_details),
    )
  }
}

function detailsOf(check: Check): Detail[] {
  return (check.errors ?? []).slice(0, max_details).map(({ instancePath, message = 'is wrong', params }) => {
    const unknown = params.additionalProperty ?? params.unevaluatedProperty
    const name = params.missingProperty ?? (unknown === undefined ? undefined : shownName(unknown as string))
    const place = name === undefined ? instancePath : `${instancePath}/${name}`
    const allowed = Array.isArray(params.allowedValues) ? `: ${params.allowedValues.join(', ')}` : ''
    return {
      path: place.replace(/^\/params/, '/path').slice(0, 1_000),
      message: `${message}${allowed}`.slice(0, 1_000),
    }
  })
}

const describe = (check: Check) =>
  detailsOf(check)
    .map(({ path, message }) => `${path} ${message}`)
    .join('; ')
