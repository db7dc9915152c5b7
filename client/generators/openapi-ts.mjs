import { readFileSync } from 'node:fs'

const { CONTRACT, FOLDER } = process.env

/** `int64` would become bigint, and answers have numbers. */
const withoutInt64 = (key, value) => (key === 'format' && value === 'int64' ? undefined : value)

/** @hey-api/openapi-ts */
export default {
  input: JSON.parse(readFileSync(CONTRACT, 'utf8'), withoutInt64),
  output: FOLDER,
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
}
