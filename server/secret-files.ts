import { readFileSync } from 'node:fs'

const maxBytes = 16_384

/** The settings that may be secret. Each may be given as NAME_FILE, the path of a file that holds the value. */
export const secretSettings = [
  'API_KEY',
  'MASTER_KEY',
  ...['VAULT_TOKEN', 'VAULT_ROLE_ID', 'VAULT_SECRET_ID'],
  'DATABASE_URL',
  'PKCS11_PIN',
  'REMOTE_SIGNER_HEADERS',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
]

/**
 * The values of those of the settings that are given as NAME_FILE, without the newline at the end of the file. Each fault names a
 * setting.
 */
export function readSecretFiles(
  environment: Record<string, string | undefined>,
  names: string[] = secretSettings,
): {
  values: Record<string, string>
  faults: string[]
  files: string[]
} {
  const files: string[] = []
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
      files.push(file)
    } catch (error) {
      faults.push(`${name}_FILE cannot be read: ${(error as Error).message}`)
    }
  }
  return { values, faults, files }
}

/**
 * Removes the secrets that `readConfig` has read. Other programs of this process then do not get them. The system may still show the
 * environment that the process was started with.
 */
export function removeSecrets(environment: Record<string, string | undefined>): void {
  for (const name of secretSettings) delete environment[name]
}

function readSecretFile(file: string): string {
  const bytes = readFileSync(file)
  if (bytes.length > maxBytes) throw new Error(`${file} has more than ${maxBytes} bytes`)
  const value = bytes.toString('utf8').replace(/[\r\n]+$/, '')
  if (value === '') throw new Error(`${file} is empty`)
  return value
}
