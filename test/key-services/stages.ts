import type { KeyServers, KeyStage } from './stage.ts'
import { startAwsKms } from './stages/aws-kms.ts'
import { startPkcs11 } from './stages/pkcs11.ts'
import { startRemoteJsonRpc } from './stages/remote-json-rpc.ts'
import { startAzureKeyVault, startGoogleCloudKms, startRemoteRest } from './stages/stand-ins.ts'
import { startVault } from './stages/vault.ts'

/** A key service for each type of signer, and for each interface of the type `remote`. */
export const stages = {
  aws_kms: startAwsKms,
  google_cloud_kms: startGoogleCloudKms,
  azure_key_vault: startAzureKeyVault,
  vault: startVault,
  pkcs11: startPkcs11,
  remote_rest: startRemoteRest,
  remote_json_rpc: startRemoteJsonRpc,
} satisfies Record<string, (servers: KeyServers) => Promise<KeyStage>>

export type StageName = keyof typeof stages

export const isStageName = (name: string): name is StageName => Object.hasOwn(stages, name)

/** What stands for the key service, for a person. */
export const implementations: Record<StageName, string> = {
  aws_kms: 'ministack',
  google_cloud_kms: 'stand-in',
  azure_key_vault: 'stand-in',
  vault: 'OpenBao',
  pkcs11: 'SoftHSM',
  remote_rest: 'stand-in',
  remote_json_rpc: 'anvil',
}
