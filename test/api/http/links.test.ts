import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// What the contract's descriptions and the pages of docs/ name of the reference exists, and is a link where it can be one.

interface Operation {
  operationId: string
  summary: string
  tags: [string]
}

const root = join(import.meta.dirname, '..', '..', '..')
const contract = JSON.parse(readFileSync(join(root, 'generated', 'openapi.json'), 'utf8'))
const slug = (title: string) => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
const headingsIn = (text = '') => [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) => title as string)
const operations = Object.values<Record<string, Operation>>(contract.paths)
  .flatMap((item) => Object.values(item))
  .filter(({ operationId }) => operationId !== undefined)

/** The links of the reference by title, as its page has them (test/docs/reference.browser.ts follows those of the operations). */
const links = new Map<string, string>([
  ...contract.tags.flatMap(({ name, description }: { name: string; description?: string }) => [
    [name, `#/${slug(name)}`],
    ...headingsIn(description).map((title) => [title, `#/${slug(name)}/${slug(title)}`]),
  ]),
  ...headingsIn(contract.info.description).map((title) => [title, `#/section/${slug(title)}`]),
  ...operations.map(({ summary, operationId, tags }) => [summary, `#/${slug(tags[0])}/${operationId.toLowerCase()}`]),
])

/** The descriptions below a part of the contract. */
const descriptionsIn = (part: unknown): string[] =>
  typeof part !== 'object' || part === null
    ? []
    : Object.entries(part).flatMap(([key, value]) =>
        key === 'description' && typeof value === 'string' ? [value] : descriptionsIn(value),
      )
const withoutCode = (text: string) => text.replaceAll(/```[\s\S]*?```|`[^`]*`/g, '')
const inOneLine = (text = '') => text.replaceAll(/\s+/g, ' ')

test('titles in descriptions are links, and each link leads to the title that it names', () => {
  const texts = descriptionsIn(contract).map(withoutCode)
  const found = texts.flatMap((text) => [...text.matchAll(/\[([^\]]+)\]\((#[^)]*)\)/g)])
  expect(found.length).toBeGreaterThan(60)
  for (const [, title, link] of found)
    expect.soft([inOneLine(title), link]).toEqual([inOneLine(title), links.get(inOneLine(title))])
  const quoted = texts.flatMap((text) => [...text.matchAll(/"([A-Z][a-z]+[^"]*)"/g)].map(([, its]) => inOneLine(its)))
  expect(quoted.filter((its) => links.has(its))).toEqual([])
  // Whatever else looks like a title: a former one.
  expect(quoted.filter((its) => its.includes(' ') && !/[:…]/.test(its))).toEqual([])
})

test('pages of docs/ name titles of the reference that exist', () => {
  const headings = new Set(['Breaking changes of the contract', 'Relayer signer'])
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  expect(pages.length).toBeGreaterThan(10)
  for (const page of pages) {
    const text = withoutCode(readFileSync(join(root, 'docs', page), 'utf8'))
    const quoted = [...text.matchAll(/"([A-Z][a-z]+(?:\s+[\w'-]+){1,8})"/g)].map(([, its]) => inOneLine(its))
    expect
      .soft(
        quoted.filter((its) => !links.has(its) && !headings.has(its)),
        page,
      )
      .toEqual([])
  }
})
