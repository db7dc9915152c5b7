import type { ExampleCall } from '../../samples/operation.ts'

/** The request as a call of the typed client, like the samples of the reference. */
export const typescriptCall = (base_url: string, { method, path, parameters, body }: ExampleCall): string =>
  `import { createRelayerClient } from '@evm-relayer-service/client'

const client = createRelayerClient({ baseUrl: '${base_url}', token: process.env.RELAYER_API_KEY ?? '' })

const { data } = await client.${method}('${path}', ${JSON.stringify({ path: parameters.path, body }, null, 2)})
console.log(data)
`
