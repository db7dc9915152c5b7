import { pbkdf2Sync } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { scrypt as ethersScrypt, pbkdf2 } from 'ethers/crypto'
import { getBytes, hexlify } from 'ethers/utils'
import { decryptKeystoreJson } from 'ethers/wallet'
import { scrypt } from 'hash-wasm'
import type { KeystoreOutcome } from './keystore.ts'
import { pbkdf2Fault, scryptFault } from './keystore-fault.ts'

class TooCostly extends Error {}

function refuse(fault: string | undefined): void {
  if (fault !== undefined) throw new TooCostly(fault)
}

// Many times faster than the derivations of ethers, and with a check of the cost before the work. (Node's scrypt refuses
// n = 262144 with r = 1, which many wallets use.)
ethersScrypt.register(async (password, salt, costFactor, blockSize, parallelism, hashLength) => {
  refuse(scryptFault(costFactor, blockSize, parallelism))
  const key = await scrypt({ password, salt, costFactor, blockSize, parallelism, hashLength, outputType: 'binary' })
  return hexlify(key)
})
pbkdf2.register((password, salt, rounds, length, algorithm) => {
  refuse(pbkdf2Fault(rounds))
  return hexlify(pbkdf2Sync(password, salt, rounds, length, algorithm))
})

const { json, passphrase } = workerData as { json: string; passphrase: string }
parentPort?.postMessage(await open())

/**
 * Wallets derive the key from the passphrase's bytes as they are (geth, web3) or in the normal form NFKC (ethers). Errors are not passed
 * on, because their messages may contain the document or the passphrase.
 */
async function open(): Promise<KeystoreOutcome> {
  const typed = new TextEncoder().encode(passphrase)
  const normalized = new TextEncoder().encode(passphrase.normalize('NFKC'))
  const outcome = await openWith(typed)
  const isWrong = 'refused' in outcome && outcome.refused === 'wrong_passphrase'
  return isWrong && Buffer.compare(typed, normalized) !== 0 ? openWith(normalized) : outcome
}

async function openWith(password: Uint8Array): Promise<KeystoreOutcome> {
  try {
    return { key: getBytes((await decryptKeystoreJson(json, password)).privateKey) }
  } catch (error) {
    const { message } = error as Error
    if (error instanceof TooCostly) return { refused: 'faulty', place: ['crypto', 'kdfparams'], reason: message }
    if (message.startsWith('incorrect password')) return { refused: 'wrong_passphrase' }
    return { refused: message.startsWith('keystore address/privateKey mismatch') ? 'other_address' : 'malformed' }
  }
}
