/** A price per unit of gas in wei, exactly, as people read it: `1.5 gwei`. */
export function gwei(price: bigint | string | number): string {
  const digits = `${price}`.padStart(10, '0')
  return `${`${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')} gwei`
}
