import type { RelayerClient, WebhookEvent } from '../../client/index.ts'
import type { NotificationType, Transaction } from '../../generated/openapi.ts'
import { type Handler, type Handlers, Page } from '../../server/domain/operation.ts'

/**
 * Nothing here runs: `tsc` compiles it, and fails where a line marked as an error is none. Each mark stands over the one
 * line that must not compile, and beside each stands the same with nothing wrong, so that no mark hides another error.
 */
declare const handlers: Handlers
declare const transaction: Transaction
const page = { current_page: 1, per_page: 10, total_items: 1 }

// Every operation of the contract has a handler, and there is no other.
const { signMessage, ...others } = handlers
export const complete: Handlers = { signMessage, ...others }
// @ts-expect-error signMessage is missing
export const missing: Handlers = { ...others }
// @ts-expect-error the contract has no such operation
export const unknownOperation: Handler<'signNothing'> = async () => ({ status: 'ok' })
// @ts-expect-error the contract has no such operation
export const more: Handlers = { ...handlers, signNothing: signMessage }

// A handler answers with its operation's body.
export const health: Handler<'getHealth'> = async () => ({ status: 'ok' })
// @ts-expect-error the status is not one of the contract's
export const wrongValue: Handler<'getHealth'> = async () => ({ status: 'well' })
// @ts-expect-error a number is no status
export const wrongType: Handler<'getHealth'> = async () => ({ status: 1 })
// @ts-expect-error another operation's answer
export const wrongAnswer: Handler<'getHealth'> = async () => ({ id: 'demo', deleted: true })
// @ts-expect-error the envelope is not the handler's
export const inEnvelope: Handler<'getHealth'> = async () => ({ success: true, data: { status: 'ok' }, error: '' })
// @ts-expect-error a failure is thrown, not returned
export const failure: Handler<'getHealth'> = async () => ({ success: false, data: null, code: 'no', message: 'No' })
// @ts-expect-error it must be a promise
export const notAwaited: Handler<'getHealth'> = () => ({ status: 'ok' })
// @ts-expect-error it must answer
export const silent: Handler<'getHealth'> = async () => undefined
export const nothing: Handler<'getSigner'> = async () => undefined

const notification = {
  id: 'a',
  type: 'webhook' as NotificationType,
  url: 'https://example.com',
  has_signing_key: true,
  filter: null,
  created_at: '2026-01-01T00:00:00.000Z',
  revision: 'r',
}
export const shown: Handler<'getNotification'> = async () => notification
export const all: Handler<'listNotifications'> = async () => new Page([notification], page)
const { has_signing_key: _, ...keyless } = notification
// @ts-expect-error has_signing_key is missing
export const incomplete: Handler<'getNotification'> = async () => keyless
// @ts-expect-error a list where one is asked for
export const listed: Handler<'getNotification'> = async () => new Page([notification], page)
// @ts-expect-error one where a list is asked for
export const notListed: Handler<'listNotifications'> = async () => notification

// A status is one of the contract's words.
export const confirmed: Transaction = { ...transaction, status: 'confirmed' }
// @ts-expect-error a misspelt status
export const misspelt: Transaction = { ...transaction, status: 'comfirmed' }
export const transactions: Handler<'listRelayerTransactions'> = async () => new Page([transaction], page)
const misspelled = { ...transaction, status: 'comfirmed' as const }
// @ts-expect-error a misspelt status in an answer
export const answered: Handler<'listRelayerTransactions'> = async () => new Page([misspelled], page)

// A handler takes its operation's parameters, defaults filled in, and body.
export const path: Handler<'deleteRelayer'> = async ({ path }) => ({ id: path.relayer_id, deleted: true })
// @ts-expect-error another operation's path parameter
export const wrongPath: Handler<'deleteRelayer'> = async ({ path }) => path.signer_id
export const query: Handler<'listRelayerTransactions'> = async ({ query }) =>
  new Page([], { ...page, per_page: query.per_page })
// @ts-expect-error another operation's query parameter
export const wrongQuery: Handler<'deleteRelayer'> = async ({ query }) => String(query.per_page)
export const body: Handler<'createNotification'> = async ({ body }) => ({ ...notification, url: body.url })
// @ts-expect-error another operation's body
export const wrongBody: Handler<'createNotification'> = async ({ body }) => ({ ...notification, id: body.name })
// @ts-expect-error a part that may be left out is not always there
export const absent: Handler<'createNotification'> = async ({ body }) => ({ ...notification, id: body.id })
// @ts-expect-error no body where the contract has none
export const noBody: Handler<'deleteRelayer'> = async ({ body }) => body.id

/** The same contract, as the client's callers see it. */
export async function calls(client: RelayerClient) {
  const signPath = '/api/v1/relayers/{relayer_id}/sign'
  const path = { relayer_id: 'demo' }
  const signed = await client.post(signPath, { path, body: { message: 'Hello' } })
  const bits: [string, number, boolean] = [signed.data.sig, signed.data.v, signed.success]
  await client.get('/api/v1/notifications')
  await client.get('/api/v1/notifications', { query: { page: 1 } })
  await client.patch('/api/v1/notifications/{notification_id}', { path: { notification_id: 'a' }, body: {} })
  await client.post('/api/v1/signers', { body: { type: 'generated' } })
  for await (const { status } of client.all('/api/v1/relayers/{relayer_id}/transactions/', { path })) bits[0] = status
  for await (const { status } of client.all('/api/v1/relayers/{relayer_id}/transactions', { path })) bits[0] = status
  const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
  const sent = await client.post(sendPath, { path, body: { to: `${bits[0]}`, value: 10n ** 18n } })
  await client.post(sendPath, { path, body: { to: sent.data.from } })
  const hex: (`0x${string}` | null)[] = [signed.data.sig, signed.data.r, sent.data.hash, sent.data.from, sent.data.data]
  hex.push(sent.data.to)

  // @ts-expect-error an unknown path
  await client.get('/api/v1/nothing')
  // @ts-expect-error a path without its version
  await client.get('/notifications')
  // @ts-expect-error a method that the path does not have
  await client.delete('/api/v1/notifications')
  // @ts-expect-error no path has the method
  await client.put('/api/v1/notifications', {})
  // @ts-expect-error the path parameter is missing
  await client.post(signPath, { body: { message: 'Hello' } })
  // @ts-expect-error everything is missing
  await client.post(signPath)
  // @ts-expect-error another operation's path parameter
  await client.post(signPath, { path: { signer_id: 'demo' }, body: { message: 'Hello' } })
  // @ts-expect-error the body is missing
  await client.post('/api/v1/relayers/{relayer_id}/sign-typed-data', { path })
  // @ts-expect-error an unknown field in the body
  await client.post(signPath, { path, body: { message: 'Hello', text: 'Hello' } })
  // @ts-expect-error a misspelt field in the body
  await client.post('/api/v1/notifications', { body: { url: 'https://example.com', signingKey: 'k' } })
  // @ts-expect-error a field of the wrong type
  await client.post(signPath, { path, body: { message: 12 } })
  // @ts-expect-error a required field is missing
  await client.post('/api/v1/notifications', { body: { type: 'webhook' } })
  // @ts-expect-error a misspelt word of the contract
  await client.post('/api/v1/signers', { body: { type: 'generate' } })
  // @ts-expect-error an unknown query parameter
  await client.get('/api/v1/notifications', { query: { limit: 10 } })
  // @ts-expect-error a query parameter of the wrong type
  await client.get('/api/v1/notifications', { query: { page: '1' } })
  // @ts-expect-error an unknown part of the input
  await client.get('/api/v1/notifications', { params: {} })
  // @ts-expect-error a body where the contract has none
  await client.get('/api/v1/notifications', { body: {} })
  // @ts-expect-error an amount is no object
  await client.post(sendPath, { path, body: { value: {} } })
  // @ts-expect-error a gas limit is a number
  await client.post(sendPath, { path, body: { gas_limit: 21_000n } })
  // @ts-expect-error an id is not hex
  hex.push(sent.data.id)
  // @ts-expect-error a path of no list, with a slash or without
  client.all('/api/v1/relayers/{relayer_id}')
  // @ts-expect-error what is no list has no pages
  client.all('/api/v1/health')
  // @ts-expect-error the answer has no such field
  void signed.data.signature
  // @ts-expect-error an answer is a success: failures are thrown
  void signed.message
  return bits
}

// The type of an event tells that of its payload.
export const statusOf = (event: WebhookEvent) => event.event === 'transaction_update' && event.payload.status
// @ts-expect-error another event has no status
export const statusOfRelayer = (event: WebhookEvent) => event.event === 'relayer_enabled' && event.payload.status
