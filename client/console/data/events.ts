import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { WebhookEvent } from '../../index.ts'
import { pause } from '../../pause.ts'
import { visible } from './format.ts'

const againMs = 3_000

/**
 * Calls back with each event of a relayer until the signal; a broken stream is continued after its last event. `recent`: how many of the
 * former events it begins with. `opened`: the stream is live, or live again, and some events may have been missed before.
 */
export async function followEvents(
  token: string,
  relayerId: string,
  signal: AbortSignal,
  { opened, tell, recent = 0 }: { opened?: () => void; tell: (event: WebhookEvent) => void; recent?: number },
): Promise<void> {
  let last: string | undefined
  while (!signal.aborted) {
    try {
      const response = await fetch(`/api/v1/relayers/${encodeURIComponent(relayerId)}/events?recent=${recent}`, {
        headers: { Authorization: `Bearer ${token}`, ...(last !== undefined && { 'Last-Event-ID': last }) },
        redirect: 'error',
        signal,
      })
      if (response.status === 401 || response.status === 404) return
      const events = response.ok ? response.body : null
      if (events) opened?.()
      const messages = events?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
      for await (const { id, data } of messages ?? []) {
        last = id
        tell(JSON.parse(visible(data)) as WebhookEvent)
      }
    } catch {
      // The service is down, which the page shows elsewhere.
    }
    await pause(againMs, signal).catch(() => undefined)
  }
}
