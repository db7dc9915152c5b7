import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The SQL files of a folder of migrations, in their order: the number of a file is the schema that it leads to. */
export const migrationFiles = (folder: string): { name: string; text: string }[] =>
  readdirSync(folder)
    .filter((name) => /^\d{4}\.sql$/.test(name))
    .sort()
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))

/** The text of all migrations. */
export const migrationsText = (folder: string): string =>
  migrationFiles(folder)
    .map(({ text }) => text)
    .join('\n')
