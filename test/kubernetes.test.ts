import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { operations } from './support/contract.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const server = read('docs/kubernetes/templates/server.yaml')

test('the chart names settings, ports, paths and folders of the image and the contract', () => {
  const config = read('server/config.ts')
  const settings = [...server.matchAll(/name: ([A-Z][A-Z_]+), value/g)].map(([, name]) => name as string)
  expect(settings).toHaveLength(5)
  for (const name of settings) expect(config).toContain(name.replace(/_FILE$/, ''))
  const paths = [...server.matchAll(/httpGet: \{ path: (\S+),/g)].map(([, path]) => path)
  expect(paths).toHaveLength(3)
  for (const path of paths) expect(operations.map((operation) => operation.path)).toContain(path)
  const dockerfile = read('Dockerfile')
  expect(dockerfile).toContain('PORT=8080 DATA_DIR=/data')
  expect(server).toContain('containerPort: 8080')
  expect(server).toContain('mountPath: /data')
  expect(dockerfile).toContain('WORKDIR /service')
})

test('the chart has the version of the service', () => {
  const { version } = JSON.parse(read('package.json'))
  expect(read('docs/kubernetes/Chart.yaml')).toContain(`appVersion: "${version}"`)
  expect(read('docs/kubernetes/values.yaml')).toContain(`tag: "${version}"`)
})
