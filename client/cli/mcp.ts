import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { Command } from 'commander'
import type { Context } from './context.ts'

const failed = -32_603

export function addMcp(program: Command, context: () => Context): void {
  program
    .command('mcp')
    .description('the tools of the service for an agent, over standard input and output (Model Context Protocol)')
    .action(() => serve(context()))
}

/** Passes each message on to the service. Ends with standard input. */
async function serve({ url, token }: Context): Promise<void> {
  const [{ StdioServerTransport }, { StreamableHTTPClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/stdio.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  ])
  const agent = new StdioServerTransport()
  const requestInit = { headers: { Authorization: `Bearer ${token}` } }
  const service = new StreamableHTTPClientTransport(new URL(`${url}/api/v1/mcp`), { requestInit })
  service.onmessage = (message) => void agent.send(message)
  agent.onmessage = (message: JSONRPCMessage) =>
    void service.send(message).catch((error: Error) => {
      // The tool may have been carried out: the agent repeats it with its request_id.
      if ('id' in message && 'method' in message)
        return agent.send({ jsonrpc: '2.0', id: message.id, error: { code: failed, message: error.message } })
    })
  const ended = new Promise((resolve) => process.stdin.once('close', resolve))
  await service.start()
  await agent.start()
  await ended
}
