import { computeAddress, encryptKeystoreJsonSync, verifyMessage } from 'ethers'
import { expect, test } from 'vitest'
import { openKeystore } from '../../server/keys/keystore.ts'
import { cow, createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const listPath = '/api/v1/signers'
const cowAddress = '0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826'

// The key of the test vectors of the Web3 Secret Storage definition, with their password and both documents.
const published = {
  address: computeAddress('0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d').toLowerCase(),
  passphrase: 'testpassword',
  documents: [
    {
      crypto: {
        cipher: 'aes-128-ctr',
        cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
        ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
        kdf: 'pbkdf2',
        kdfparams: {
          c: 262144,
          dklen: 32,
          prf: 'hmac-sha256',
          salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
        },
        mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
      },
      id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
      version: 3,
    },
    {
      crypto: {
        cipher: 'aes-128-ctr',
        cipherparams: { iv: '83dbcc02d8ccb40e466191a123791e0e' },
        ciphertext: 'd172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c',
        kdf: 'scrypt',
        kdfparams: {
          dklen: 32,
          n: 262144,
          p: 8,
          r: 1,
          salt: 'ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19',
        },
        mac: '2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097',
      },
      id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
      version: 3,
    },
  ],
}

// The second one's r and p are those that web3.py (until 2024), Nethereum and web3j write; OpenSSL's scrypt refuses them.
test.each([
  ['pbkdf2', published.documents[0]],
  ['scrypt', published.documents[1]],
])('opens the published keystore under %s', async (_, keystore) => {
  const { client } = await startTestService()
  const config = { keystore: keystore as never, passphrase: published.passphrase }
  let address: string | undefined
  // A busy machine may not derive the key within the time limit; the service then asks to try again.
  await until('the keystore is open', async () => {
    const created = client.post(listPath, { body: { type: 'keystore', config } })
    address = await created.then(
      ({ data }) => data.address,
      (error) => {
        if (error.status !== 503) throw error
        return undefined
      },
    )
    return address !== undefined
  })
  expect(address).toBe(published.address)
})

const passphrase = 'pässwörd 🔑'
const keystore = JSON.parse(
  encryptKeystoreJsonSync({ address: cowAddress, privateKey: cow }, passphrase, { scrypt: { N: 2, r: 1, p: 1 } }),
)
const crypto = keystore.Crypto

test('opens a keystore that ethers wrote with its passphrase, and signs', async () => {
  const { client } = await startTestService()
  const { data } = await client.post(listPath, {
    body: { id: 'k', type: 'keystore', config: { keystore, passphrase } },
  })
  expect(data).toEqual({ id: 'k', type: 'local', address: cowAddress, created_at: expect.any(String) })
  const path = { relayer_id: (await createRelayer(client, { signer_id: 'k' })).id }
  const signed = await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
  expect(verifyMessage('Hello', signed.data.sig).toLowerCase()).toBe(cowAddress)
})

// U+212B: NFKC makes U+00C5 of it, which has other bytes.
test.each([
  ['as it is, as geth does', (text: string) => new TextEncoder().encode(text)],
  ['in the form NFKC, as ethers does', (text: string) => text],
])('opens a keystore whose passphrase was used %s', async (_, passwordOf) => {
  const word = '\u212b 1 \ufb01'
  const account = { address: cowAddress, privateKey: cow }
  const document = JSON.parse(encryptKeystoreJsonSync(account, passwordOf(word), { scrypt: { N: 2, r: 1, p: 1 } }))
  expect(await openKeystore(document, word)).toMatchObject({ key: expect.any(Uint8Array) })
  expect(await openKeystore(document, 'another')).toEqual({ refused: 'wrong_passphrase' })
})

const keystorePath = '/body/config/keystore'
const costPath = `${keystorePath}/crypto/kdfparams`
const scrypt = (changes: object) => ({
  ...keystore,
  Crypto: { ...crypto, kdfparams: { ...crypto.kdfparams, ...changes } },
})
const digits = (changes: object) => ({ ...keystore, Crypto: { ...crypto, ...changes } })
const [pbkdf2] = published.documents

test('refuses a keystore that does not open or costs too much, with the reason', async () => {
  const { client, raw } = await startTestService()
  const refused: [object, string, string][] = [
    [keystore, 'wrong', '/body/config/passphrase'],
    [keystore, '', '/body/config/passphrase'],
    [{}, passphrase, keystorePath],
    [{ ...keystore, version: 1, Crypto: undefined }, passphrase, keystorePath],
    [{ ...keystore, Crypto: { ...crypto, kdf: 'md5' } }, passphrase, keystorePath],
    [{ ...keystore, Crypto: { ...crypto, cipher: 'aes-128-cbc' } }, passphrase, keystorePath],
    [{ ...keystore, Crypto: null }, passphrase, `${keystorePath}/crypto/ciphertext`],
    [digits({ mac: `0x${crypto.mac}` }), passphrase, `${keystorePath}/crypto/mac`],
    [digits({ ciphertext: `0x${crypto.ciphertext}` }), passphrase, `${keystorePath}/crypto/ciphertext`],
    // A key of 31 bytes, as wallets wrote that left out its leading zero.
    [digits({ ciphertext: crypto.ciphertext.slice(2) }), passphrase, `${keystorePath}/crypto/ciphertext`],
    [
      digits({ cipherparams: { iv: `0x${crypto.cipherparams.iv}` } }),
      passphrase,
      `${keystorePath}/crypto/cipherparams/iv`,
    ],
    [{ ...keystore, address: 'ab'.repeat(20) }, passphrase, `${keystorePath}/address`],
    [scrypt({ n: 3 }), passphrase, keystorePath],
    [scrypt({ n: 0 }), passphrase, keystorePath],
    [scrypt({ n: 2 ** 24, r: 8 }), passphrase, costPath],
    [scrypt({ n: 2, r: 2 ** 30 }), passphrase, costPath],
    [scrypt({ n: 2 ** 19, r: 8 }), passphrase, costPath],
    [scrypt({ n: 2 ** 18, r: 8, p: 2 ** 20 }), passphrase, costPath],
    // 492 bytes that took 406 s and 3.2 GB.
    [scrypt({ n: 2, r: 1, p: 2 ** 23 }), passphrase, costPath],
    [scrypt({ n: 2, r: 1, p: 17 }), passphrase, costPath],
    [scrypt({ n: 2 ** 18, r: 8, p: 3 }), passphrase, costPath],
    [scrypt({ n: 2 ** 18, r: 1, p: 17 }), passphrase, costPath],
    [scrypt({ n: 2, r: 2 ** 14 }), passphrase, costPath],
    [scrypt({ n: 2 ** 40, r: 1, p: 1 }), passphrase, costPath],
    [scrypt({ n: '2', r: '1', p: `${2 ** 23}` }), passphrase, costPath],
    [
      { ...pbkdf2, crypto: { ...pbkdf2?.crypto, kdfparams: { ...pbkdf2?.crypto.kdfparams, c: 5_000_001 } } },
      published.passphrase,
      costPath,
    ],
  ]
  for (const [document, word, path] of refused) {
    const body = JSON.stringify({ type: 'keystore', config: { keystore: document, passphrase: word } })
    const response = await raw(listPath, { method: 'POST', body })
    const told = JSON.stringify(document)
    expect.soft(response.status, told).toBe(400)
    expect.soft(await response.json(), told).toMatchObject({ message: 'Bad Request', details: [{ path }] })
  }
  expect((await client.get(listPath)).pagination.total_items).toBe(1)
})

test('refuses a document of another version, even if it would open', async () => {
  const { raw } = await startTestService()
  for (const version of [1, 2, 4, '3x', null]) {
    const body = JSON.stringify({ type: 'keystore', config: { keystore: { ...keystore, version }, passphrase } })
    const response = await raw(listPath, { method: 'POST', body })
    expect.soft(response.status, `${version}`).toBe(400)
    expect.soft(await response.json(), `${version}`).toMatchObject({ details: [{ path: keystorePath }] })
  }
})

test('ends a key derivation at its time limit, and opens the next keystore', async () => {
  const slow = scrypt({ n: 2 ** 18, r: 8, p: 2 })
  expect(await openKeystore(slow, passphrase, 50)).toEqual({ refused: 'timed_out' })
  expect(await openKeystore(keystore, passphrase)).toMatchObject({ key: expect.any(Uint8Array) })
})

test('queues a limited number of keystores, and answers other requests meanwhile', async () => {
  const { client, raw } = await startTestService()
  const body = JSON.stringify({
    type: 'keystore',
    config: { keystore: scrypt({ n: 2 ** 14, r: 8, p: 1 }), passphrase },
  })
  const open = Array.from({ length: 12 }, () => raw(listPath, { method: 'POST', body }))
  let finished = 0
  for (const one of open) void one.then(({ status }) => (finished += status === 400 ? 1 : 0))
  await client.post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id: 'demo' }, body: { message: 'Hello' } })
  expect(finished).toBeLessThan(8)
  const statuses = (await Promise.all(open)).map(({ status }) => status).sort()
  // The salt is another derivation's, so none of them opens.
  expect(statuses).toEqual([...Array(8).fill(400), ...Array(4).fill(503)])
})
