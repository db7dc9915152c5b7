/** A recoverable secp256k1 signature over a digest: r and s (32 bytes each, s low), and the parity of R's y (0 or 1). */
export interface RawSignature {
  rs: Uint8Array
  recovery: number
}

/** A private key that signs: a local one synchronously, one in a key service asynchronously. */
export interface Signer {
  /** 20 bytes, lower case, with 0x. */
  address: string
  /** `digest`: 32 bytes. Deterministic (RFC 6979). */
  sign(digest: Uint8Array): RawSignature | Promise<RawSignature>
}
