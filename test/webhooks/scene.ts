import type { RelayerClient } from '../../client/index.ts'
import type { Anvil } from '../support/anvil.ts'

/** Who tells whom in a run. */
export interface Scene {
  /** Relayers to pause and unpause. */
  switches: string[]
  /** Relayers to send with. */
  senders: string[]
  /** Notifications. */
  targets: string[]
}

/** A key of each kind, and none. */
const keys: Record<string, string | undefined> = {
  'target-whsec': 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  'target-base64': 'b3IgYSBrZXkgaW4gYmFzZTY0IG9mIDMyIGJ5dGVzIGk=',
  'target-hex': '5f3c1e0a9b7d4826c0e1f2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7',
  'target-passphrase': 'correct horse battery staple',
  'target-unicode': 'пароль 密码 🔑',
  'target-unsigned': undefined,
}
const targets = Object.keys(keys)
const senders = ['sender-0', 'sender-1']
const balance = 10n ** 24n

/** The signing key of a target. */
export const keyOf = (target: string): string | undefined => keys[target]

export async function setScene(
  client: RelayerClient,
  chain: Anvil,
  urlOf: (target: string) => string,
  count: number,
): Promise<Scene> {
  const network = { network: 'trial', network_type: 'evm' } as const
  const { chain_id, url } = chain
  await client.post('/api/v1/networks', {
    body: { name: 'trial', network_type: 'evm', chain_id, rpc_urls: [url], average_blocktime_ms: 500 },
  })
  for (const id of targets) {
    const signingKey = keyOf(id)
    await client.post('/api/v1/notifications', {
      body: { id, url: urlOf(id), ...(signingKey && { signing_key: signingKey }) },
    })
  }
  const switches = Array.from({ length: count }, (_, index) => `switch-${index}`)
  for (const [index, id] of [...switches, ...senders].entries()) {
    const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
    const notificationId = targets[index % targets.length] as string
    const body = { id, name: id, ...network, paused: false, signer_id: signer.id, notification_id: notificationId }
    const { data } = await client.post('/api/v1/relayers', { body })
    if (senders.includes(id)) await chain.setBalance(data.address, balance)
  }
  return { switches, senders, targets }
}
