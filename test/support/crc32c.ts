/** CRC-32C (RFC 3720, appendix B.4), bit by bit. The check value of "123456789" is 0xe3069283. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffffn
  for (const byte of bytes) {
    crc ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1n ? (crc >> 1n) ^ 0x82f63b78n : crc >> 1n
  }
  return Number(crc ^ 0xffffffffn)
}
