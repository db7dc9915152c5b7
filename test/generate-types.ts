import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import openapiTS, { astToString, COMMENT_HEADER, type OpenAPI3, type OpenAPITSOptions } from 'openapi-typescript'
import ts from 'typescript'
import { ofThisVersion } from '../server/api/http/validator-document.ts'

/**
 * Writes the contract's types: generated/openapi.ts as the server reads and writes JSON, and generated/client.ts as the client's callers
 * see them. These differ in two places. Hex in responses is `0x${string}`, the type that viem requires. An amount may be a bigint. Hex in
 * requests is a string, because callers hold it as one (ethers) and some places accept it without 0x.
 *
 * `--check` writes nothing and fails when a file is not up to date.
 */
const generated = join(import.meta.dirname, '..', 'generated')
const published = readFileSync(join(generated, 'openapi.json'), 'utf8')
// A later version adds to what the contract leaves open; our own types name what this version has.
const contractOf = (isServer: boolean) => {
  const contract = JSON.parse(published, (key, node) => {
    if (key === 'x-also-accepted' && !isServer) return undefined
    return typeof node === 'object' && node !== null && !Array.isArray(node) ? ofThisVersion(node) : node
  })
  excludeSiblings(contract.components.schemas)
  return contract
}

interface Schema {
  $ref?: string
  type?: string | string[]
  pattern?: string
  properties?: Record<string, Schema>
  oneOf?: Schema[]
  discriminator?: object
  'x-never'?: true
}

const keyword = (kind: ts.KeywordTypeSyntaxKind) => ts.factory.createKeywordTypeNode(kind)

// `0x${string}`
const hex = ts.factory.createTemplateLiteralType(ts.factory.createTemplateHead('0x'), [
  ts.factory.createTemplateLiteralTypeSpan(keyword(ts.SyntaxKind.StringKeyword), ts.factory.createTemplateTail('')),
])
const hexOrNull = ts.factory.createUnionTypeNode([hex, ts.factory.createLiteralTypeNode(ts.factory.createNull())])
const textOrBigint = [keyword(ts.SyntaxKind.StringKeyword), keyword(ts.SyntaxKind.BigIntKeyword)]
const amount = ts.factory.createUnionTypeNode(textOrBigint)
const chainId = ts.factory.createUnionTypeNode([...textOrBigint, keyword(ts.SyntaxKind.NumberKeyword)])

const isAnsweredHex = ({ pattern = '' }: Schema) => pattern.startsWith('^0x') && !pattern.includes('A-F')

await write('openapi.ts', contractOf(true), () => undefined)
await write('client.ts', contractOf(false), (schema, { path }) => {
  if (path?.endsWith('/AmountInput')) return amount
  if (path?.endsWith('/TypedDataChainId')) return chainId
  if (!isAnsweredHex(schema as Schema)) return undefined
  return Array.isArray((schema as Schema).type) ? hexOrNull : hex
})

async function write(
  name: string,
  contract: object,
  transform: NonNullable<OpenAPITSOptions['transform']>,
): Promise<void> {
  const nodes = await openapiTS(contract as OpenAPI3, {
    silent: true,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
    defaultNonNullable: false,
    enumValues: true,
    transform: (schema, options) =>
      (schema as Schema)['x-never'] ? keyword(ts.SyntaxKind.NeverKeyword) : transform(schema, options),
  })
  const text = `${COMMENT_HEADER}${astToString(nodes)}`
  const output = join(generated, name)
  if (!process.argv.includes('--check')) writeFileSync(output, text)
  else if (readFileSync(output, 'utf8') !== text) {
    console.error(`generated/${name} is not up to date: run \`npm run generate\``)
    process.exitCode = 1
  }
}

/** TypeScript accepts an object with the members of two alternatives of a union. So each alternative forbids those of the others. */
function excludeSiblings(schemas: Record<string, Schema>): void {
  const membersOf = ({ $ref = '' }: Schema) => schemas[$ref.split('/').at(-1) as string]?.properties ?? {}
  for (const { oneOf = [], discriminator } of Object.values(schemas)) {
    if (discriminator) continue
    const names = oneOf.map((alternative) => Object.keys(membersOf(alternative)))
    for (const [index, alternative] of oneOf.entries()) {
      const others = names.flat().filter((name) => !names[index]?.includes(name))
      for (const name of others) membersOf(alternative)[name] = { 'x-never': true }
    }
  }
}
