/** A recoverable secp256k1 signature over a digest: r and s (32 bytes each, s low), and the parity of R's y (0 or 1). */
export interface Signature {
  rs: Uint8Array
  recovery: number
  /** The id that the key service gave the request. Absent for a local key. */
  request_id?: string
}

/** A private key that signs: a local one synchronously, one in a key service asynchronously. */
export interface Signer {
  /** 20 bytes, lower case, with 0x. */
  address: string
  /**
   * The number of signatures that a caller may request at the same time. 1: the process computes them one by one. Otherwise it is at
   * least 2, and changes with what the key service allows.
   */
  readonly at_once: number
  /**
   * `digest`: 32 bytes. A local key is deterministic (RFC 6979); a key service may give another signature each time. Rejects with
   * KeyServiceUnavailable when the key service does not sign. `preimage`: the bytes that have this keccak-256, for a key service that
   * hashes. `signal`: a request that still waits is dropped when it aborts. `check`: called directly before each call of a key service,
   * because a request may wait for its turn; when it rejects, so does the signature.
   */
  sign(
    digest: Uint8Array,
    preimage: () => Uint8Array,
    signal?: AbortSignal,
    check?: () => Promise<unknown>,
  ): Signature | Promise<Signature>
}
