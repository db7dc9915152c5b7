import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { KMSClient, SignCommand } from '@aws-sdk/client-kms'
import { listen } from './listen.ts'

// `node kms-call.ts URL`: every request is one call of the key service, by its own SDK, and nothing else.

const client = new KMSClient({ region: 'eu-central-1', endpoint: process.argv[2] as string, maxAttempts: 1 })

await listen(
  createServer((request, response) => {
    request.resume().on('end', async () => {
      const command = new SignCommand({
        KeyId: 'bench',
        Message: randomBytes(32),
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      })
      const { Signature } = await client.send(command)
      response.end(JSON.stringify({ length: Signature?.length }))
    })
  }),
)
