const hex = (number: number | bigint) => `0x${number.toString(16)}`

/** A transaction of the account in a node's block, with an invalid signature. */
export const forgedTransaction = (address: string, nonce: number, hash: string) => ({
  hash,
  type: '0x2',
  chainId: hex(31_337),
  from: address,
  to: address,
  nonce: hex(nonce),
  value: '0x1',
  gas: hex(21_000),
  input: '0x',
  maxFeePerGas: '0x1',
  maxPriorityFeePerGas: '0x1',
  gasPrice: '0x1',
  accessList: [],
  v: '0x0',
  yParity: '0x0',
  r: hex(2n ** 255n - 19n),
  s: hex(2n ** 200n - 3n),
})
