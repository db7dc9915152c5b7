import { Transaction } from 'ethers'

/** Whether the signed transaction is by the key of the address (lower case), with a low s, as a chain requires. */
export function isSignedBy(raw: string, address: string): boolean {
  try {
    return Transaction.from(raw).from?.toLowerCase() === address
  } catch {
    return false
  }
}
