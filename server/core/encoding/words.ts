/** A number or an address as 32 bytes of call data (contract ABI specification), hex without 0x. */
export const word = (value: number | bigint | string): string =>
  (typeof value === 'string' ? value.replace(/^0x/, '') : value.toString(16)).padStart(64, '0')
