/** Lower case with 0x. The bytes are not copied: a signature is encoded in every response. */
export const toHex = (bytes: Uint8Array): string =>
  `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`
