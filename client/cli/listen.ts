import type { Command } from 'commander'
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream'
import type { WebhookEvent } from '../../generated/client.ts'
import { isUnknown } from '../call.ts'
import { RelayerError } from '../error.ts'
import { pause } from '../pause.ts'
import { signWebhook } from '../webhook.ts'
import { type Context, readSecret } from './context.ts'
import { CommandError, isUnreached } from './exit-codes.ts'

interface ListenOptions {
  since?: string
  forwardTo?: string
  signingKeyFile?: string
}

const reconnectMs = 2_000
const forwardMs = 15_000

/** `listen`: the event stream of a relayer, on the terminal and at a local URL, as webhooks deliver it. */
export function addListen(program: Command, context: () => Context): void {
  program
    .command('listen')
    .description("print a relayer's events as they happen, and forward them to a local URL as webhooks")
    .option('--since <sequence>', 'start after this event; 0: with the oldest stored one (default: with the next)')
    .option('--forward-to <url>', 'send each event to this URL, signed as a webhook')
    .option('--signing-key-file <file>', 'the signing key (default: a new one, which is printed)')
    .action(async (options: ListenOptions) => {
      const world = context()
      const { since, forwardTo } = options
      if (since !== undefined && !/^\d{1,16}$/.test(since)) throw new CommandError('--since must be a sequence number')
      if (forwardTo !== undefined && !/^https?:\/\//.test(forwardTo))
        throw new CommandError('--forward-to must be a URL, for example http://localhost:3000/webhook')
      const key = forwardTo === undefined ? '' : await signingKey(world, options)
      const relayerId = await world.relayerId()
      for await (const { id, data } of events(world, relayerId, since)) {
        const event = JSON.parse(data) as WebhookEvent
        world.print.line(event, `${event.timestamp}  ${id}  ${event.event}  ${brief(event)}`)
        if (forwardTo !== undefined) world.print.note(await forward(forwardTo, key, event.id, data))
      }
    })
}

async function signingKey({ print }: Context, { signingKeyFile }: ListenOptions): Promise<string> {
  if (signingKeyFile !== undefined) return readSecret(signingKeyFile)
  const key = `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))))}`
  print.note(`Signing key of the forwarded events: ${key}`)
  return key
}

/** All events, also after the connection broke: it is opened again behind the last event. */
async function* events(
  world: Context,
  relayerId: string,
  since: string | undefined,
): AsyncGenerator<EventSourceMessage> {
  let last = since
  for (;;) {
    try {
      const stream = await connect(world, relayerId, last)
      for await (const message of stream) {
        last = message.id
        yield message
      }
    } catch (error) {
      if (!isUnreached(error) && !isUnknown(error) && !isBroken(error)) throw error
    }
    world.print.note('The connection is closed: connecting again')
    await pause(reconnectMs)
  }
}

async function connect({ url, token, print }: Context, relayerId: string, last: string | undefined) {
  const response = await fetch(`${url}/api/v1/relayers/${encodeURIComponent(relayerId)}/events`, {
    headers: { Authorization: `Bearer ${token}`, ...(last !== undefined && { 'Last-Event-ID': last }) },
    redirect: 'error',
  })
  if (!response.ok || !response.body) throw RelayerError.from(response, await response.json().catch(() => undefined))
  print.note(`Listening to ${relayerId}`)
  return response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
}

/** The service stopped, or is not ready yet. */
const isBroken = (error: unknown) =>
  error instanceof RelayerError
    ? error.status === 503 || error.status === 429
    : (error as Error).message === 'terminated'

/** What became of the delivery, in a line. */
async function forward(url: string, key: string, id: string, body: string): Promise<string> {
  const headers = { 'Content-Type': 'application/json', 'User-Agent': 'evm-relayer-service' }
  const signed = await signWebhook(key, id, body)
  try {
    const signal = AbortSignal.timeout(forwardMs)
    const { status } = await fetch(url, { method: 'POST', headers: { ...headers, ...signed }, body, signal })
    return `-> ${url} ${status}`
  } catch (error) {
    const { cause, message } = error as Error
    return `-> ${url} ${(cause as Error | undefined)?.message ?? message}`
  }
}

function brief({ payload }: WebhookEvent): string {
  const transaction =
    payload.payload_type === 'transaction'
      ? payload
      : payload.payload_type === 'transaction_waiting'
        ? payload.transaction
        : undefined
  if (transaction) return `${transaction.id} ${transaction.status} ${transaction.hash ?? ''}`
  return 'relayer' in payload ? payload.relayer.id : ''
}
