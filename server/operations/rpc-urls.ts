import type { RpcUrl, RpcUrlInput } from '../../generated/openapi.ts'
import { badRequest } from '../core/errors.ts'

const default_weight = 100
const mask = '***'

/** Reads RPC URLs. `check` returns the reason why a URL may not be called. `path`: prefix of the paths in refusals. */
export function readRpcUrls(
  inputs: readonly RpcUrlInput[],
  path: string,
  check: (url: URL) => string | undefined,
): RpcUrl[] {
  return inputs.map((input, index) => {
    const { url: text, weight = default_weight } = typeof input === 'string' ? { url: input } : input
    const at = typeof input === 'string' ? `${path}/${index}` : `${path}/${index}/url`
    const url = URL.parse(text)
    if (!url) throw badRequest(at, 'must be an absolute URL, for example https://rpc.example.com')
    if (text.includes(mask)) throw badRequest(at, 'must be the complete URL, not the masked one from a response')
    const refused = check(url)
    if (refused) throw badRequest(at, refused)
    return { url: text, weight }
  })
}

/** Masks RPC URLs for responses. Providers put API keys into paths and queries, so only the host is shown. */
export const showRpcUrls = (rpcUrls: readonly RpcUrl[]): RpcUrl[] =>
  rpcUrls.map(({ url, weight }) => {
    const { origin, pathname, search, hash } = new URL(url)
    const bare = pathname === '/' && search === '' && hash === ''
    return { url: bare ? origin : `${origin}/${mask}`, weight }
  })
