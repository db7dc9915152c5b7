import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'

const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')
const names = new Set(tracked.map((file) => basename(file)))
const isComment = /^\s*\*|\/\/|\/\*\*/

/** Files that are named in comments and documents, and do not exist. */
function missingIn(file: string): string[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.flatMap((line, index) =>
    file.endsWith('.md') || isComment.test(line)
      ? [...line.matchAll(/(?<![\w.*-])[\w-]+\.tsx?\b/g)]
          .filter(([name]) => !names.has(name))
          .map(([name]) => `${file}:${index + 1} ${name}`)
      : [],
  )
}

test('comments and documents name files that exist', () => {
  const read = tracked.filter((file) => /^(server|client|test|docs|\.github)\/.*\.(tsx?|md)$/.test(file))
  expect(read.flatMap(missingIn)).toEqual([])
})
