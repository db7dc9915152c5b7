/** The columns that hold encrypted secrets. A test compares the list with the schema. Each secret is bound to its row. */
export const sealedColumns = [
  ['signers', 'secret'],
  ['notifications', 'signing_key'],
  ['notifications', 'former_key'],
] as const
