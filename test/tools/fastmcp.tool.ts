import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { folderWith, run, startRelayer } from './tool.ts'

/** The client as its documentation has it: only the URL and the key are this service's. */
const folder = folderWith({
  'pay.py': `
import asyncio, json, os
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

async def main():
    transport = StreamableHttpTransport(
        os.environ["RELAYER_MCP"], headers={"Authorization": "Bearer " + os.environ["RELAYER_API_KEY"]}
    )
    async with Client(transport) as client:
        tools = [tool.name for tool in await client.list_tools()]
        payment = {"relayer_id": os.environ["RELAYER_ID"], "to": "0x${'5a'.repeat(20)}", "value": "7", "request_id": "rent"}
        ids = [(await client.call_tool("send_call", payment)).structured_content["id"] for _ in range(2)]
        refused = await client.call_tool("send_call", payment | {"value": "101", "request_id": "more"}, raise_on_error=False)
        budget = (await client.call_tool("get_budget", {})).structured_content["budget_usage"]
    print("RESULT" + json.dumps({
        "tools": len(tools), "ids": len(set(ids)), "used": budget["assets"][0]["used"],
        "refused": refused.content[0].text if refused.is_error else None,
    }))

asyncio.run(main())
`,
})

beforeAll(async () => {
  await run(folder, 'python3', ['-m', 'venv', 'venv'])
  await run(folder, join(folder, 'venv', 'bin', 'pip'), ['install', '--quiet', 'fastmcp'])
})

test('fastmcp: lists the tools, pays once under a repeated request_id, and reads its budget and a refusal', async () => {
  const { rig, account, env } = await startRelayer()
  const { data } = await rig.client().post('/api/v1/api-keys', {
    body: {
      ...{ name: 'agent', scopes: ['sign', 'send', 'read'], relayer_ids: [account.relayer_id] },
      budget: { assets: [{ asset: 'coin', max_amount_per_day: '100' }] },
    },
  })
  const own = { RELAYER_MCP: `${rig.url()}/api/v1/mcp`, RELAYER_API_KEY: data.token, RELAYER_ID: account.relayer_id }
  const printed = await run(folder, join(folder, 'venv', 'bin', 'python'), ['pay.py'], { ...env, ...own })
  expect(JSON.parse(/RESULT(.*)/.exec(printed)?.[1] ?? printed)).toEqual({
    ...{ tools: 7, ids: 1, used: '7' },
    refused: expect.stringContaining('101 wei is above the remaining 93 wei'),
  })
})
