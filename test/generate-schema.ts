import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { migrationFiles } from '../server/store/migration-files.ts'
import { migrationsFolder, schemaFile } from '../server/store/sqlite/open-database.ts'
import { seeded } from '../server/store/transfer/tables.ts'

/**
 * Writes generated/schema.sql: the schema that the migrations of SQLite lead to, in one file, for new databases and for readers.
 * `--check` writes nothing and fails when the file is not up to date.
 */
const db = new Database(':memory:')
const files = migrationFiles(migrationsFolder)
for (const { text } of files) db.exec(text)

const statements = db
  .prepare<[], string>(
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
  )
  .pluck()
  .all()
const rows = [...seeded].flatMap((table) =>
  db
    .prepare<[], unknown[]>(`SELECT * FROM ${table}`)
    .raw()
    .all()
    .map((values) => `INSERT INTO ${table} VALUES (${values.join(', ')})`),
)
const comment =
  '-- The schema of a new SQLite database. Made from server/store/migrations by `npm run generate:schema`.\n'
const text = `${comment}\n${[...statements, ...rows, `PRAGMA user_version = ${files.length}`].join(';\n\n')};\n`

if (!process.argv.includes('--check')) writeFileSync(schemaFile, text)
else if (readFileSync(schemaFile, 'utf8') !== text) {
  console.error(`${join('generated', 'schema.sql')} is out of date: run \`npm run generate:schema\``)
  process.exitCode = 1
}
