import type { Command } from 'commander'
import type { SignTypedDataRequest } from '../../generated/client.ts'
import { type Context, parseJson, readInput } from './context.ts'
import { CommandError } from './exit-codes.ts'

interface SignOptions {
  hex?: string
  typedData?: string
}

export function addSign(program: Command, context: () => Context): void {
  program
    .command('sign [text]')
    .description('sign a text (EIP-191; -: standard input), bytes, or typed data (EIP-712)')
    .option('--hex <bytes>', 'sign these bytes, for example 0x48656c6c6f')
    .option('--typed-data <file>', 'sign the EIP-712 document in this file (-: standard input)')
    .action(async (text: string | undefined, options: SignOptions) => {
      const world = context()
      const signature = await sign(world, text, options)
      world.print.one(signature, signature.sig)
    })
}

async function sign({ client, relayerId }: Context, text: string | undefined, { hex, typedData }: SignOptions) {
  if ([text, hex, typedData].filter((one) => one !== undefined).length !== 1)
    throw new CommandError('Give exactly one of a text, --hex and --typed-data')
  const path = { relayer_id: await relayerId() }
  if (typedData !== undefined) {
    const body = parseJson(await readInput(typedData), typedData) as SignTypedDataRequest
    return (await client.post('/api/v1/relayers/{relayer_id}/sign-typed-data/full', { path, body })).data
  }
  const body =
    hex === undefined ? { message: text === '-' ? await readInput('-') : (text as string) } : { message_hex: hex }
  return (await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body })).data
}
