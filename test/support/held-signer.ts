import { startFakeWeb3signer } from './fake-web3signer.ts'
import { listen } from './listener.ts'
import { until } from './until.ts'

interface HeldRequest {
  /** Lets the signer answer it. */
  answer(): void
}

export type HeldSigner = Awaited<ReturnType<typeof startHeldSigner>>

/** A remote signer behind a gate, which holds signature requests between `hold` and `release`. */
export async function startHeldSigner() {
  const signer = await startFakeWeb3signer()
  const requests: HeldRequest[] = []
  let isHolding = false
  let asked = 0

  const gate = await listen(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>))
    if (request.method === 'POST') asked += 1
    if (isHolding && request.method === 'POST') {
      await new Promise<void>((resolve) => void requests.push({ answer: resolve }))
    }
    const init = request.method === 'POST' ? { body } : {}
    const { headers } = request
    const answer = await fetch(`${signer.url}${request.url}`, {
      method: request.method ?? 'GET',
      headers: { 'Content-Type': headers['content-type'] ?? 'application/json' },
      ...init,
    })
    response
      .writeHead(answer.status, { 'Content-Type': answer.headers.get('Content-Type') ?? 'text/plain' })
      .end(await answer.text())
  })

  return {
    url: gate.url,
    /** The signer of a relayer that it signs for. */
    request: { type: 'remote', config: { url: gate.url, address: signer.address } } as const,
    address: signer.address,
    hold() {
      isHolding = true
      asked = 0
    },
    /** Answers the held requests, and holds no further ones. */
    release() {
      isHolding = false
      for (const { answer } of requests) answer()
    },
    /** How many signatures were asked for since `hold`. */
    asked: () => asked,
    /** Waits for `count` held requests, and resolves to them. */
    async held(count: number): Promise<HeldRequest[]> {
      await until(`${count} signatures are asked for`, () => requests.length >= count)
      return requests
    },
    async stop() {
      await Promise.all([gate.stop(), signer.stop()])
    },
  }
}
