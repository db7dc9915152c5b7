import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript'
import ts from 'typescript'

/**
 * Writes generated/client.ts: the contract's types as the client's callers see them. They differ from those of the server, which
 * reads and writes JSON, in two places. Hex in responses is `0x${string}`, the type that viem requires. An amount may be a bigint.
 * Hex in requests is a string, because callers hold it as one (ethers) and some places accept it without 0x.
 *
 * `--check` writes nothing and fails when the file is not up to date.
 */
const contract = new URL('../openapi.yaml', import.meta.url)
const output = join(import.meta.dirname, '..', 'generated', 'client.ts')

interface Schema {
  type?: string | string[]
  pattern?: string
}

const keyword = (kind: ts.KeywordTypeSyntaxKind) => ts.factory.createKeywordTypeNode(kind)

// `0x${string}`
const hex = ts.factory.createTemplateLiteralType(ts.factory.createTemplateHead('0x'), [
  ts.factory.createTemplateLiteralTypeSpan(keyword(ts.SyntaxKind.StringKeyword), ts.factory.createTemplateTail('')),
])
const hexOrNull = ts.factory.createUnionTypeNode([hex, ts.factory.createLiteralTypeNode(ts.factory.createNull())])
const amount = ts.factory.createUnionTypeNode(
  [ts.SyntaxKind.StringKeyword, ts.SyntaxKind.NumberKeyword, ts.SyntaxKind.BigIntKeyword].map((kind) =>
    keyword(kind as ts.KeywordTypeSyntaxKind),
  ),
)

const isAnsweredHex = ({ pattern = '' }: Schema) => pattern.startsWith('^0x') && !pattern.includes('A-F')

const nodes = await openapiTS(contract, {
  silent: true,
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
  defaultNonNullable: false,
  enumValues: true,
  transform(schema, { path }) {
    if (path === '#/components/schemas/AmountInput') return amount
    if (!isAnsweredHex(schema as Schema)) return undefined
    return Array.isArray((schema as Schema).type) ? hexOrNull : hex
  },
})
const text = `${COMMENT_HEADER}${astToString(nodes)}`

if (!process.argv.includes('--check')) writeFileSync(output, text)
else if (readFileSync(output, 'utf8') !== text) {
  console.error('generated/client.ts is not up to date: run `npm run generate`')
  process.exitCode = 1
}
