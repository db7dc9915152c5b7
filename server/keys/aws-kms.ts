import type { AwsKmsConfig } from '../../generated/openapi.ts'
import { createAwsClients, loadAwsSdk, throwFault } from './aws-client.ts'
import { addressOf } from './curve.ts'
import { KeyServiceFault, type Outbound, type RemoteKey } from './key-service.ts'
import { fromDer, pointOfSpki } from './signature-form.ts'

/** Keys in AWS KMS, by its API reference (GetPublicKey, Sign). */
export function createAwsKms(outbound: Outbound): (config: AwsKmsConfig) => RemoteKey {
  const clientOf = createAwsClients(outbound)

  return (config) => ({
    async publicKey(signal) {
      const { GetPublicKeyCommand } = await loadAwsSdk()
      const client = await clientOf(config)
      const command = new GetPublicKeyCommand({ KeyId: config.key_id })
      const found = await client.send(command, { abortSignal: signal }).catch(throwFault)
      if (found.KeySpec !== 'ECC_SECG_P256K1' || found.KeyUsage !== 'SIGN_VERIFY') {
        const is = `${found.KeySpec} with the usage ${found.KeyUsage}`
        throw new KeyServiceFault('refused', `the key must be ECC_SECG_P256K1 with the usage SIGN_VERIFY; it is ${is}`)
      }
      const point = found.PublicKey && pointOfSpki(found.PublicKey)
      if (!point) throw new KeyServiceFault('wrong', 'the answer of AWS KMS is not a secp256k1 public key')
      return { address: addressOf(point) }
    },
    async sign(digest, signal) {
      const { SignCommand } = await loadAwsSdk()
      const client = await clientOf(config)
      const command = new SignCommand({
        KeyId: config.key_id,
        Message: digest,
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      })
      const { Signature, $metadata } = await client.send(command, { abortSignal: signal }).catch(throwFault)
      const rs = Signature && fromDer(Signature)
      if (!rs) throw new KeyServiceFault('wrong', 'the answer of AWS KMS is not a signature in DER')
      const { requestId: request_id } = $metadata
      return { rs, ...(request_id !== undefined && { request_id }) }
    },
  })
}
