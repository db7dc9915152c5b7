import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Command } from 'commander'
import type { GlobalOptions } from './context.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { inLine, write, writeJson } from './terminal.ts'

/** `verify-release`: compares the files of a release with its SHA256SUMS and its provenance. It asks no service. */
export function addVerifyRelease(program: Command): void {
  program
    .command('verify-release <folder>')
    .description('compare the files of a release with its SHA256SUMS and its provenance')
    .action((folder: string) => {
      const { files, faults } = verify(folder)
      if (faults.length > 0) throw new CommandError(faults.map(inLine).join('\n'), exitCodes.problems)
      if (program.opts<GlobalOptions>().json) writeJson(process.stdout, JSON.stringify({ files }))
      else write(process.stdout, `${files} files are as SHA256SUMS and provenance.json say\n`)
    })
}

/** Throws CommandError when the folder is no release. */
function verify(folder: string): { files: number; faults: string[] } {
  const read = (file: string) => {
    try {
      return readFileSync(join(folder, file))
    } catch {
      throw new CommandError(`${join(folder, file)} cannot be read: is this the folder of a release?`)
    }
  }
  const lines = read('SHA256SUMS').toString('utf8').trimEnd().split('\n')
  const sums = new Map(
    lines.map((line): [string, string] => {
      const [, sum, file] = /^([0-9a-f]{64}) {2}((?:[\w-]+\/)*[\w.-]+)$/.exec(line) ?? []
      if (sum === undefined || file === undefined)
        throw new CommandError(`SHA256SUMS has another line: ${inLine(line)}`)
      return [file, sum]
    }),
  )
  const present = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll('\\', '/'))
    .filter((file) => file !== 'SHA256SUMS')
  const faults = [
    ...[...sums.keys()].filter((file) => !present.includes(file)).map((file) => `${file} is missing`),
    ...present.filter((file) => !sums.has(file)).map((file) => `${file} is not part of the release`),
    ...[...sums]
      .filter(([file, sum]) => present.includes(file) && sha256(read(file)) !== sum)
      .map(([file]) => `${file} was changed: it has another SHA-256 than in SHA256SUMS`),
  ]
  if (faults.length === 0) faults.push(...provenanceFaults(read('provenance.json').toString('utf8'), sums))
  return { files: sums.size, faults }
}

interface Provenance {
  subject?: { name: string; digest: { sha256: string } }[]
}

/** The provenance names every file but itself. */
function provenanceFaults(text: string, sums: ReadonlyMap<string, string>): string[] {
  const { subject = [] } = JSON.parse(text) as Provenance
  const named = new Map(subject.map(({ name, digest }) => [name, digest.sha256]))
  return [...sums]
    .filter(([file, sum]) => file !== 'provenance.json' && named.get(file) !== sum)
    .map(([file]) => `provenance.json says something else of ${file}`)
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
