/** The database cannot be used. The message tells the operator why. */
export class StoreError extends Error {}
