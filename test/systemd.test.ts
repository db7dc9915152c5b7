import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const flagsIn = (text = '') => text.match(/--(?!require)[\w-]+(?:=\d+)?/g)

test('starts the service in systemd and in the container with the flags of `npm start`', () => {
  const wanted = flagsIn(JSON.parse(read('package.json')).scripts.start)
  expect(wanted).toHaveLength(4)
  expect(flagsIn(/^ExecStart=.*$/m.exec(read('docs/systemd/relayer.service'))?.[0])).toEqual(wanted)
  expect(flagsIn(/^CMD .*$/m.exec(read('Dockerfile'))?.[0])).toEqual(wanted)
})
