import { pbkdf2Sync } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { scrypt as ethersScrypt, pbkdf2 } from 'ethers/crypto'
import { getBytes, hexlify } from 'ethers/utils'
import { decryptKeystoreJson } from 'ethers/wallet'
import { scrypt } from 'hash-wasm'
import type { KeystoreOutcome } from './keystore.ts'

const max_scrypt_bytes = 256 * 1024 * 1024
const max_scrypt_work = 2 ** 24
const max_pbkdf2_rounds = 10_000_000

class TooCostly extends Error {}

// Many times as fast as the library's own derivations, and here the cost is known before it is paid. (Node's scrypt refuses
// n = 262144 with r = 1, which is what many wallets write.)
ethersScrypt.register(async (password, salt, costFactor, blockSize, parallelism, hashLength) => {
  if (128 * costFactor * blockSize > max_scrypt_bytes || costFactor * blockSize * parallelism > max_scrypt_work) {
    throw new TooCostly()
  }
  const key = await scrypt({ password, salt, costFactor, blockSize, parallelism, hashLength, outputType: 'binary' })
  return hexlify(key)
})
pbkdf2.register((password, salt, rounds, length, algorithm) => {
  if (rounds > max_pbkdf2_rounds) throw new TooCostly()
  return hexlify(pbkdf2Sync(password, salt, rounds, length, algorithm))
})

const { json, passphrase } = workerData as { json: string; passphrase: string }
parentPort?.postMessage(await open())

/** Errors stay here: their messages may quote what they were given. */
async function open(): Promise<KeystoreOutcome> {
  try {
    return { key: getBytes((await decryptKeystoreJson(json, passphrase)).privateKey) }
  } catch (error) {
    if (error instanceof TooCostly) return { refused: 'too_costly' }
    const wrong = error instanceof Error && error.message.startsWith('incorrect password')
    return { refused: wrong ? 'wrong_passphrase' : 'malformed' }
  }
}
