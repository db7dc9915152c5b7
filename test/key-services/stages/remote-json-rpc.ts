import { RLP } from '@ethereumjs/rlp'
import { getBytes, hashMessage, Transaction } from 'ethers'
import { startAnvil } from '../../support/anvil.ts'
import { type KeyFaults, signedBy, spoilt } from '../../support/key-faults.ts'
import { type Exchange, startFront } from '../front.ts'
import { type KeyStage, type Trouble, troubleMaker } from '../stage.ts'

const accounts = 30

/**
 * The accounts of an anvil of their own, which signs with eth_sign and eth_signTransaction. Its signatures are deterministic; with the
 * trouble `varied` the front signs again with the same key.
 */
export async function startRemoteJsonRpc(): Promise<KeyStage> {
  const anvil = await startAnvil({ accounts })
  const keys = new Map(anvil.accounts.map(({ address, key }) => [address.toLowerCase(), getBytes(key)]))
  const unused = [...keys.keys()]
  let isVaried = false

  function respell({ body, answer }: Exchange, signature: KeyFaults['signature']): string {
    const { method, params } = JSON.parse(body)
    const said = JSON.parse(answer)
    if (said.result === undefined || (signature === 'right' && !isVaried)) return answer
    if (method !== 'eth_sign' && method !== 'eth_signTransaction') return answer
    const [of, message] = method === 'eth_sign' ? params : [params[0].from]
    const key = keys.get(`${of}`.toLowerCase())
    const other = (rs: Uint8Array, digest: Uint8Array) =>
      Buffer.from(spoilt(isVaried && key ? signedBy(key, digest) : rs, digest, signature))
    if (method === 'eth_sign') {
      const rs = other(getBytes(said.result).subarray(0, 64), getBytes(hashMessage(getBytes(message))))
      return JSON.stringify({ ...said, result: `0x${rs.toString('hex')}${said.result.slice(-2)}` })
    }
    return JSON.stringify({ ...said, result: resigned(said.result, other) })
  }

  const front = await startFront(anvil.url, {
    throttled: { status: 429, body: { error: 'Too Many Requests' } },
    spoil: respell,
  })
  const set = troubleMaker(front.faults, { begin: front.stop, end: front.start })
  return {
    environment: {},
    keeps_key: false,
    async signer() {
      const address = unused.pop()
      if (!address) throw new Error(`${accounts} accounts are used`)
      return { type: 'remote', config: { url: front.url, address, interface: 'json_rpc' } }
    },
    async set(trouble: Trouble | undefined) {
      isVaried = trouble === 'varied'
      await set(trouble)
    },
    async stop() {
      await front.stop()
      await anvil.stop()
    },
  }
}

/** The last two fields of a signed transaction are r and s. The service does not read the one before them. */
function resigned(raw: string, other: (rs: Uint8Array, digest: Uint8Array) => Buffer): string {
  const { type, unsignedHash, signature } = Transaction.from(raw)
  if (!signature) throw new Error('not signed')
  const bytes = getBytes(raw)
  const fields = RLP.decode(type === 0 ? bytes : bytes.subarray(1)) as Uint8Array[]
  const rs = other(getBytes(signature.r + signature.s.slice(2)), getBytes(unsignedHash))
  const list = RLP.encode([...fields.slice(0, -2), unpadded(rs.subarray(0, 32)), unpadded(rs.subarray(32))])
  return `0x${type ? type.toString(16).padStart(2, '0') : ''}${Buffer.from(list).toString('hex')}`
}

/** RLP writes integers without leading zeros. */
const unpadded = (bytes: Uint8Array) => bytes.subarray(bytes.findIndex((byte) => byte !== 0))
