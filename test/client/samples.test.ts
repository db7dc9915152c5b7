import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exampleFaults, successExamples } from '../support/example-forms.ts'
import { project, published, run, runSamples, sampleOf, startImports } from '../support/samples.ts'

const root = join(import.meta.dirname, '..', '..')

// Those for Python and Go run in `npm run test:docs`: they need these languages.
test('has samples for curl, TypeScript, Python and Go for every operation', () => {
  const labels = published.map(({ id, samples }) => [id, ...samples.map(({ label }) => label)])
  expect(labels).toEqual(published.map(({ id }) => [id, 'curl', 'TypeScript', 'Python', 'Go']))
})

test('compiles the TypeScript samples under strict', async () => {
  const folder = project()
  const files = published.map(({ id, samples }) => {
    writeFileSync(join(folder, `${id}.ts`), sampleOf(samples, 'TypeScript'))
    return `${id}.ts`
  })
  const compilerOptions = {
    typeRoots: [join(root, 'node_modules', '@types')],
    paths: { '@evm-relayer-service/client': [join(root, 'client', 'index.ts')] },
  }
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: [], exclude: [], files }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const { output, code } = await run(join(root, 'node_modules', '.bin', 'tsc'), ['--project', folder], {})
  expect(output).toBe('')
  expect(code).toBe(0)
})

test('runs every sample for curl, whose answers have the form of the examples', async () => {
  const answers = new Map<string, unknown>()
  const failures = await runSamples('curl', (_, env) => async (id, source, success) => {
    const isStream = success === 'event: '
    const script = `curl() { command curl -sS -w '\\n%{http_code}' "$@"; }\n${source}`
    const { output, code } = await run('bash', ['-c', script], { env, until: isStream ? success : undefined })
    const succeeded = isStream ? output.includes(success) : code === 0 && output.endsWith(`\n${success}`)
    if (succeeded && !isStream) answers.set(id, JSON.parse(output.slice(0, output.lastIndexOf('\n'))))
    return succeeded ? undefined : `${code} ${output}`
  })
  expect(failures).toEqual([])
  expect(answers.size).toBeGreaterThan(95)
  expect(exampleFaults(answers)).toEqual([])
})

test('no example of a list is empty', () => {
  const lists = successExamples().flatMap(({ ids, examples }) =>
    examples.map(([name, value]) => ({ ids, name, value })),
  )
  expect(lists.length).toBeGreaterThan(50)
  const isEmpty = ({ value }: { value: unknown }) => JSON.stringify((value as { data?: unknown }).data) === '[]'
  expect(lists.filter(isEmpty)).toEqual([])
})

test('runs every sample for TypeScript', async () => {
  const failures = await runSamples('TypeScript', (folder, env) => {
    const imports = startImports(folder, env)
    return async (id, source, success) => {
      const program = join(folder, `${id}.ts`)
      writeFileSync(program, source)
      if (success !== 'event: ') return imports(program)
      const { output } = await run(process.execPath, [program], { env, until: success })
      return output.includes(success) ? undefined : output
    }
  })
  expect(failures).toEqual([])
})
