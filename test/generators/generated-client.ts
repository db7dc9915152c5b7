import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { getAddress, verifyMessage } from 'ethers'
import { expect } from 'vitest'
import type { RelayerClient } from '../../client/index.ts'
import { type Document, exampleCalls } from '../../client/samples/operation.ts'

export const contract = join(import.meta.dirname, '..', '..', 'generated', 'openapi.json')

interface Schema {
  type?: unknown
  allOf?: unknown
}

const document = JSON.parse(readFileSync(contract, 'utf8')) as Document & {
  tags: { name: string; description: string }[]
  components: { schemas: Record<string, Schema> }
}

export const operationIds = exampleCalls(document).map(({ operation }) => operation.operationId as string)

const schemas = Object.entries(document.components.schemas)
export const schemaNames = schemas.map(([name]) => name)

/** Those for which a generator makes a class. */
export const objectSchemas = schemas
  .filter(([, { type, allOf }]) => type === 'object' || allOf !== undefined)
  .map(([name]) => name)

/** The first code block of the language in the webhook guide. Without a language: the whole guide. */
export function block(language?: string): string {
  const guide = document.tags.find(({ name }) => name === 'Notifications')?.description ?? ''
  if (language === undefined) return guide
  return new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(guide)?.[1] ?? ''
}

/** The output of the program, trimmed. A failure has all of it. */
export async function run(program: string, input: string[], cwd: string, env: Record<string, string> = {}) {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, input, { cwd, env: { ...process.env, ...env } })
    return (stdout + stderr).trim()
  } catch (error) {
    const { message, stdout, stderr } = error as { message: string; stdout?: string; stderr?: string }
    throw new Error([message, stdout, stderr].join('\n'), { cause: error })
  }
}

/** The text is a signature of "Hello" by the relayer `demo`. */
export async function expectSignature(client: RelayerClient, signature: string) {
  const { data: demo } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  expect(verifyMessage('Hello', signature)).toBe(getAddress(demo.address))
}
