import type { EndpointFault, Observer } from '../core/observer.ts'
import type { TargetCheck } from '../outbound/address-guard.ts'
import type { Audience } from './answer-limits.ts'
import { createEndpoint, type Endpoint, TargetRefused } from './endpoint.ts'
import type { Post } from './post.ts'
import { urlScrubber } from './url-secrets.ts'

/** The log names an endpoint with answers that are too large, or cannot be read, once in this time. */
const quiet_ms = 60_000

interface Opening {
  openPost(url: string): Post
  checkTarget: TargetCheck
  /** Monotonic milliseconds. */
  now: () => number
  observer: Observer
}

interface Node {
  chain_id: number
  url: string
  weight: number
  /** Whether it is a relayer's own, and not one of the network: whoever manages the relayer has named it. */
  isCustom: boolean
}

/** Opens endpoints that call only what may be called, and report their state and their calls. */
export const endpointOpener =
  ({ openPost, checkTarget, now, observer }: Opening) =>
  (node: Node, audience: Audience): Endpoint => {
    const { chain_id, url, weight } = node
    const post = permitted(openPost(url), url, checkTarget)
    const endpoint = createEndpoint(post, weight, chain_id, now, urlScrubber(url), audience)
    return watched(endpoint, { ...node, audience }, now, observer)
  }

/** Calls nothing while the URL may not be called. */
function permitted(post: Post, url: string, checkTarget: TargetCheck): Post {
  const checked: Post = async (...request) => {
    const reason = checkTarget(new URL(url))
    if (reason !== undefined) throw new TargetRefused(`Its URL ${reason}`)
    return post(...request)
  }
  return Object.assign(checked, { close: () => post.close?.() })
}

/** Reports the host only, because the path and the user may be secrets. */
function watched(
  endpoint: Endpoint,
  { url, chain_id, isCustom, audience }: Node & { audience: Audience },
  now: () => number,
  observer: Observer,
): Endpoint {
  const { host } = new URL(url)
  // The sender's endpoint reports the node's state. A caller's calls may fail because of what they ask for.
  if (audience === 'service') {
    endpoint.onChange = (reason) => {
      if (reason !== undefined) observer.endpointDown?.({ host, chain_id, reason })
      else observer.endpointUp?.({ host, chain_id, reason: 'It answers again' })
    }
  }
  const seldom = (report: ((fault: EndpointFault) => void) | undefined) => {
    let quietUntil = 0
    return (reason: string) => {
      if (now() < quietUntil) return
      quietUntil = now() + quiet_ms
      report?.({ host, chain_id, audience, reason })
    }
  }
  endpoint.onTooLarge = seldom(observer.endpointAnsweredTooMuch)
  endpoint.onMalformed = seldom(observer.endpointAnswerMalformed)
  return measured(endpoint, { url, isCustom }, observer)
}

function measured(endpoint: Endpoint, { url, isCustom }: Pick<Node, 'url' | 'isCustom'>, { rpc }: Observer): Endpoint {
  if (!rpc) return endpoint
  const { ask } = endpoint
  const { host } = new URL(url)
  endpoint.ask = (calls) => rpc({ host, isCustom, methods: calls.map(({ method }) => method) }, () => ask(calls))
  return endpoint
}
