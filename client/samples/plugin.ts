import { curlSample } from './curl.ts'
import { goSample } from './go.ts'
import { joinLines } from './one-line.ts'
import { type Document, exampleCalls, returnsOf } from './operation.ts'
import { pythonSample } from './python.ts'
import { typescriptSample } from './typescript.ts'

/** Where a first start listens. */
const baseUrl = 'http://127.0.0.1:8080'

/** A plugin of Redocly CLI: gives every operation of the bundled contract samples, made from its examples, says what it returns, and joins lines of text. */
export default function samplesPlugin() {
  return {
    id: 'samples',
    typeExtension: { oas3: addOpenUnions },
    decorators: {
      oas3: { 'code-samples': addSamples, returns: addReturns, values: addValues, 'one-line': joinDescriptions },
    },
  }
}

interface NodeType {
  properties: Record<string, unknown>
}

/** `x-extensible-one-of` refers to schemas, as a discriminator does. */
const addOpenUnions = ({ Schema, ...types }: { Schema: NodeType }) => ({
  ...types,
  Schema: { ...Schema, properties: { ...Schema.properties, 'x-extensible-one-of': 'OpenUnion' } },
  OpenUnion: { properties: { propertyName: { type: 'string' }, mapping: 'NamedSchemas' } },
})

const addSamples = () => ({
  Root: {
    leave(document: Document) {
      for (const { operation, call } of exampleCalls(document)) {
        operation['x-codeSamples'] = [
          { lang: 'Shell', label: 'curl', source: curlSample(baseUrl, call) },
          { lang: 'TypeScript', label: 'TypeScript', source: typescriptSample(baseUrl, call) },
          { lang: 'Python', label: 'Python', source: pythonSample(baseUrl, call) },
          { lang: 'Go', label: 'Go', source: goSample(baseUrl, call) },
        ]
      }
    },
  },
})

const addReturns = () => ({
  Root: {
    leave(document: Document) {
      for (const { operation } of exampleCalls(document)) {
        operation.description = [operation.description?.trim() ?? [], returnsOf(document, operation)]
          .flat()
          .join('\n\n')
      }
    },
  },
})

/** Values that a later version may add to are no `enum`, which generated clients would refuse others of: the description names them. */
const addValues = () => ({
  Schema: {
    leave(schema: { description?: string; 'x-extensible-enum'?: unknown[] }) {
      const { description, 'x-extensible-enum': values } = schema
      if (!values) return
      const isNamed = values.every((value) => description?.includes(`\`${value}\``))
      const named = isNamed ? [] : `One of ${values.map((value) => `\`${value}\``).join(', ')}.`
      schema.description = [description?.trim() ?? [], named, 'A later version may add values.'].flat().join(' ')
    },
  },
})

const joinDescriptions = () => ({
  any: {
    leave(node: unknown) {
      if (isDescribed(node)) node.description = joinLines(node.description)
    },
  },
})

const isDescribed = (node: unknown): node is { description: string } =>
  typeof node === 'object' && node !== null && 'description' in node && typeof node.description === 'string'
