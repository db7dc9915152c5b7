import type { CreateRelayerRequest, CreateSignerRequest, Relayer, RelayerClient, Signer } from '../../client/index.ts'

/** The key that the authors of EIP-712 sign with: keccak256("cow"). */
export const cow = '0xc85ef7d79691fe79573b1a7064c19c1a9819ebdbd1faaab1a8ec92344438aaf4'

export async function createSigner(
  client: RelayerClient,
  body: CreateSignerRequest = { type: 'generated', config: {} },
): Promise<Signer> {
  return (await client.post('/api/v1/signers', { body })).data
}

/** A relayer on the network `local`, with a new key unless `given` names a signer. */
export async function createRelayer(
  client: RelayerClient,
  given: Partial<CreateRelayerRequest> = {},
): Promise<Relayer> {
  const signerId = given.signer_id ?? (await createSigner(client)).id
  const body = {
    name: 'A relayer',
    network: 'local',
    network_type: 'evm' as const,
    paused: false,
    ...given,
    signer_id: signerId,
  }
  const { warnings = [], ...relayer } = (await client.post('/api/v1/relayers', { body })).data
  // Most tests have no node.
  const others = warnings.filter(({ code }) => code !== 'node_unhealthy')
  return { ...relayer, warnings: others }
}

/** A relayer that signs with this key. */
export async function relayerOf(client: RelayerClient, key: string): Promise<Relayer> {
  const { id } = await createSigner(client, { type: 'plain', config: { key } })
  return createRelayer(client, { signer_id: id })
}

/** The settings that production requires. */
export const production = {
  NODE_ENV: 'production',
  API_KEY: 'test-key-test-key-test-key-test-key',
  MASTER_KEY: '11'.repeat(32),
}
