import { readFileSync } from 'node:fs'

const max_bytes = 16_384

/**
 * The values of those of the settings that are given as NAME_FILE, without the newline at the end of the file. Each fault names a
 * setting.
 */
export function readSecretFiles(
  environment: Record<string, string | undefined>,
  names: string[],
): { values: Record<string, string>; faults: string[] } {
  const values: Record<string, string> = {}
  const faults: string[] = []
  for (const name of names) {
    const file = environment[`${name}_FILE`]
    if (!file) continue
    if (environment[name]) {
      faults.push(`${name} and ${name}_FILE are both set: set one of them`)
      continue
    }
    try {
      values[name] = readSecretFile(file)
    } catch (error) {
      faults.push(`${name}_FILE cannot be read: ${(error as Error).message}`)
    }
  }
  return { values, faults }
}

function readSecretFile(file: string): string {
  const bytes = readFileSync(file)
  if (bytes.length > max_bytes) throw new Error(`${file} has more than ${max_bytes} bytes`)
  const value = bytes.toString('utf8').replace(/[\r\n]+$/, '')
  if (value === '') throw new Error(`${file} is empty`)
  return value
}
