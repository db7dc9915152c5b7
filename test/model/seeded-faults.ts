import { checkFault, seededFaults as crashFaults, type Seed } from '../crash/seeded-faults.ts'

export interface ModelFault extends Seed {
  /** The kinds of violation that may catch it; anything else that is wrong was not its doing. */
  caught_by: string[]
}

/** Mistakes that the model test must see, or its clean result says nothing. */
export const modelFaults: Record<string, ModelFault> = {
  /** A cancellation pays the receiver after all. */
  'cancel-pays': {
    file: 'server/sending/signing.ts',
    text: ': { to: row.from, value: 0n, data: null,',
    instead: ': { to: row.to, value: BigInt(row.value), data: null,',
    caught_by: ['canceled', 'expired', 'failed', 'paid 2 times', 'signed twice'],
  },
  /** What is signed anew gets another nonce. */
  'bump-takes-nonce': {
    file: 'server/sending/signing.ts',
    text: 'nonce: row.nonce as number, ...content',
    instead: 'nonce: (row.nonce as number) + (slow ? 1 : 0), ...content',
    caught_by: ['signed twice', 'paid 2 times'],
  },
  'broadcast-before-commit': { ...crashFaults['broadcast-before-commit'], caught_by: ['not durable'] },
  /** The limit per day is read and not held. */
  'limit-forgotten': {
    file: 'server/store/sqlite/spending.ts',
    text: 'if (amount > left) return',
    instead: 'if (amount > left * 1_000_000n + 10n ** 20n) return',
    caught_by: ['over the limit'],
  },
  /** The raise of a price has no bound and no cause. */
  'price-runs-away': {
    file: 'server/evm/fees.ts',
    text: 'const bump_percent = 110n',
    instead: 'const bump_percent = 1_000n',
    caught_by: ['too expensive'],
  },
}

/** Throws when the sources no longer say what a fault is about. */
export function checkModelFaults(): void {
  for (const fault of Object.values(modelFaults)) checkFault(fault)
}
