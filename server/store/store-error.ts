/** The database cannot be used. The message gives the operator the reason. */
export class StoreError extends Error {}
