import type { ExampleCall } from '../../samples/operation.ts'

/** The call with the typed client, as the reference's samples show it; those are made by Node, this one in a browser. */
export const typescriptCall = (base_url: string, { method, path, parameters, body }: ExampleCall): string =>
  `import { createRelayerClient } from 'evm-relayer-client'

const client = createRelayerClient({ baseUrl: '${base_url}', token: process.env.RELAYER_API_KEY ?? '' })

const { data } = await client.${method}('${path}', ${JSON.stringify({ path: parameters.path, body }, null, 2)})
console.log(data)
`
