/** The OpenBao server that `run.ts` started, in its development mode: KV version 2 at `secret`. */
export const bao = {
  url: process.env.KEY_BAO_URL ?? '',
  token: process.env.KEY_BAO_TOKEN ?? '',
}

/** A call of its API with the root token. */
export async function callBao<Answer>(
  method: string,
  path: string,
  body?: object,
  { url, token }: { url: string; token: string } = bao,
): Promise<Answer> {
  const response = await fetch(`${url}/v1/${path}`, {
    method,
    headers: { 'X-Vault-Token': token, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as Answer
}
