import { pbkdf2Sync, scryptSync } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { scryptSync as ethersScrypt, pbkdf2 } from 'ethers/crypto'
import { getBytes, hexlify } from 'ethers/utils'
import { decryptKeystoreJsonSync } from 'ethers/wallet'
import type { KeystoreOutcome } from './keystore.ts'

const max_scrypt_bytes = 256 * 1024 * 1024
const max_scrypt_work = 2 ** 24
const max_pbkdf2_rounds = 10_000_000

class TooCostly extends Error {}

// Node's derivations are native and ten times as fast as the library's, and here the cost is known before it is paid.
ethersScrypt.register((password, salt, N, r, p, length) => {
  if (128 * N * r > max_scrypt_bytes || N * r * p > max_scrypt_work) throw new TooCostly()
  return hexlify(scryptSync(password, salt, length, { N, r, p, maxmem: 129 * N * r + 2 ** 20 }))
})
pbkdf2.register((password, salt, rounds, length, algorithm) => {
  if (rounds > max_pbkdf2_rounds) throw new TooCostly()
  return hexlify(pbkdf2Sync(password, salt, rounds, length, algorithm))
})

const { json, passphrase } = workerData as { json: string; passphrase: string }
parentPort?.postMessage(open())

/** Errors stay here: their messages may quote what they were given. */
function open(): KeystoreOutcome {
  try {
    return { key: getBytes(decryptKeystoreJsonSync(json, passphrase).privateKey) }
  } catch (error) {
    if (error instanceof TooCostly) return { refused: 'too_costly' }
    const wrong = error instanceof Error && error.message.startsWith('incorrect password')
    return { refused: wrong ? 'wrong_passphrase' : 'malformed' }
  }
}
