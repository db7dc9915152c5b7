import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { published, run, runSamples, sampleOf } from '../support/samples.ts'
import { temporaryFolder } from '../support/service.ts'

test('runs every sample for Python', async () => {
  const python = join(temporaryFolder(), 'bin', 'python')
  expect(await run('python3', ['-m', 'venv', join(python, '..', '..')], {})).toMatchObject({ code: 0 })
  expect(await run(python, ['-m', 'pip', 'install', '--quiet', 'requests==2.34.2'], {})).toMatchObject({ code: 0 })
  const failures = await runSamples('Python', (folder, env) => async (id, source, success) => {
    const program = join(folder, `${id}.py`)
    writeFileSync(program, source)
    const isStream = success === 'event: '
    const { output, code } = await run(python, ['-u', program], { env, until: isStream ? success : undefined })
    return (isStream ? output.includes(success) : code === 0) ? undefined : `${code} ${output}`
  })
  expect(failures).toEqual([])
})

test('compiles and runs every sample for Go', async () => {
  const folder = temporaryFolder()
  // Their values are replaced only now, so each is built when it runs; gofmt has no complaint of their form.
  for (const { id, samples } of published) {
    mkdirSync(join(folder, id))
    writeFileSync(join(folder, id, 'main.go'), sampleOf(samples, 'Go'))
  }
  expect(await run('gofmt', ['-l', folder], {})).toEqual({ output: '', code: 0 })
  const failures = await runSamples('Go', (_, env) => async (id, source, success) => {
    const program = join(folder, id, 'main.go')
    writeFileSync(program, source)
    const isStream = success === 'event: '
    const { output, code } = await run('go', ['run', program], { env, until: isStream ? success : undefined })
    return (isStream ? output.includes(success) : code === 0 && output.startsWith(success))
      ? undefined
      : `${code} ${output}`
  })
  expect(failures).toEqual([])
})
