import { fromDer } from '../../../server/keys/signer.ts'
import { awsCredentials, startFakeKms } from '../../support/fake-kms.ts'
import { spoilt } from '../../support/key-faults.ts'
import { toDer } from '../../support/key-forms.ts'
import { type Exchange, startFront } from '../front.ts'
import { type KeyServers, type KeyStage, standstill, troubleMaker } from '../stage.ts'

const region = 'us-east-1'
const environment = { ...awsCredentials, AWS_EC2_METADATA_DISABLED: 'true' }

export const startAwsKms = ({ ministack }: KeyServers): Promise<KeyStage> =>
  ministack ? behindFront(ministack) : standIn()

async function standIn(): Promise<KeyStage> {
  const kms = await startFakeKms(region)
  return {
    environment,
    keeps_key: false,
    signer: async () => ({ type: 'aws_kms', config: { region, key_id: kms.addKey(), endpoint: kms.url } }),
    set: troubleMaker(kms.faults, { begin: kms.stop, end: kms.start }),
    stop: kms.stop,
  }
}

async function behindFront({ url, pid }: { url: string; pid: number }): Promise<KeyStage> {
  // Not needed by the stand-in.
  const { CreateKeyCommand, KMSClient } = await import('@aws-sdk/client-kms')
  const credentials = {
    accessKeyId: awsCredentials.AWS_ACCESS_KEY_ID,
    secretAccessKey: awsCredentials.AWS_SECRET_ACCESS_KEY,
  }
  const client = new KMSClient({ region, endpoint: url, credentials })
  const front = await startFront(url, {
    throttled: { status: 400, body: { __type: 'ThrottlingException', message: 'Rate exceeded' } },
    spoil: respell,
  })
  const set = troubleMaker(front.faults, standstill(pid))
  return {
    environment,
    keeps_key: false,
    async signer() {
      const command = new CreateKeyCommand({ KeySpec: 'ECC_SECG_P256K1', KeyUsage: 'SIGN_VERIFY' })
      const { KeyMetadata } = await client.send(command)
      return { type: 'aws_kms', config: { region, key_id: KeyMetadata?.KeyId ?? '', endpoint: front.url } }
    },
    set,
    async stop() {
      await set(undefined)
      client.destroy()
      await front.stop()
    },
  }
}

function respell({ headers, body, answer }: Exchange, signature: Parameters<typeof spoilt>[2]): string {
  if (signature === 'right' || headers['x-amz-target'] !== 'TrentService.Sign') return answer
  const said = JSON.parse(answer)
  const rs = fromDer(Buffer.from(said.Signature, 'base64'))
  const digest = Buffer.from(JSON.parse(body).Message, 'base64')
  if (!rs) throw new Error('not a signature')
  return JSON.stringify({ ...said, Signature: toDer(spoilt(rs, digest, signature)).toString('base64') })
}
