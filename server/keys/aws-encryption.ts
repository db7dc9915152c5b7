import type { AwsKey } from '../core/settings/key-encryption-key.ts'
import { createAwsClients, loadAwsSdk, throwFault } from './aws-client.ts'
import { type EncryptionKey, purpose } from './encryption-key.ts'
import { KeyServiceFault } from './key-service.ts'

/** A symmetric key in AWS KMS, by its API reference (Encrypt, Decrypt), with the purpose as the encryption context. */
export function awsEncryptionKey({ key_id: KeyId, ...at }: AwsKey): EncryptionKey {
  const clientOf = createAwsClients({ lookup: undefined })
  const shared = { KeyId, EncryptionContext: purpose }

  return {
    async encrypt(Plaintext, abortSignal) {
      const { EncryptCommand } = await loadAwsSdk()
      const client = await clientOf(at)
      const answer = await client.send(new EncryptCommand({ ...shared, Plaintext }), { abortSignal }).catch(throwFault)
      return found(answer.CiphertextBlob)
    },
    async decrypt(CiphertextBlob, abortSignal) {
      const { DecryptCommand } = await loadAwsSdk()
      const client = await clientOf(at)
      const command = new DecryptCommand({ ...shared, CiphertextBlob })
      return found((await client.send(command, { abortSignal }).catch(throwFault)).Plaintext)
    },
  }
}

function found(bytes: Uint8Array | undefined): Uint8Array {
  if (!bytes) throw new KeyServiceFault('wrong', 'the answer of AWS KMS has no content')
  return bytes
}
