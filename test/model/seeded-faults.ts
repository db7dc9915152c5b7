import { checkFault, seededFaults as crashFaults, type Seed } from '../crash/seeded-faults.ts'

export interface ModelFault extends Seed {
  /** The kinds of violation that may catch it; anything else that is wrong was not its doing. */
  caught_by: string[]
}

/** Mistakes that the model test must see, or its clean result says nothing. */
export const modelFaults: Record<string, ModelFault> = {
  /** A cancellation pays the receiver after all. */
  'cancel-pays': {
    file: 'server/sender/sign.ts',
    text: 'const transfer = { to: from, value: 0n, data: null }',
    instead: "const transfer = { to: from.replace(/.$/, '0'), value: 1n, data: null }",
    caught_by: ['canceled', 'expired', 'failed', 'paid 2 times', 'signed twice', 'unknown payment of 1'],
  },
  /** A transaction that is signed again gets another nonce. */
  'bump-takes-nonce': {
    file: 'server/sender/sign.ts',
    text: 'nonce: row.nonce as number, ...content',
    instead: 'nonce: (row.nonce as number) + (row.hash === null ? 0 : 1), ...content',
    caught_by: ['signed twice', 'paid 2 times'],
  },
  'broadcast-before-commit': { ...crashFaults['broadcast-before-commit'], caught_by: ['not durable'] },
  /** The limit per day is read and not held. */
  'limit-forgotten': {
    file: 'server/store/queries/daily-limits.ts',
    text: 'if (amount <= left) return undefined',
    instead: 'if (amount <= left * 1_000_000n + 10n ** 20n) return undefined',
    caught_by: ['over the limit'],
  },
  /** A price is raised whatever the market asks. */
  'multiple-forgotten': {
    file: 'server/domain/signature-plan.ts',
    text: 'isAbove(prices, market, tier,',
    instead: 'false && isAbove(prices, market, tier,',
    caught_by: ['too expensive'],
  },
  /** Public nodes get private transactions too. */
  'private-told': {
    file: 'server/chain/chains.ts',
    text: '(isPrivate(transaction) ? relays : mempool)',
    instead: '(isPrivate(transaction) && now() < 0 ? relays : mempool)',
    caught_by: ['told publicly'],
  },
  /** The counter follows the first false count. */
  'count-believed': {
    file: 'server/domain/nonce-verdict.ts',
    text: "if (head - from_block < doubtBlocks) return { do: 'wait' }",
    instead: "if (head > 0) return { do: 'raise', to: counted, evidence: 'a count', proof }",
    caught_by: ['unasked self-transfers', 'unfinished', 'failed', 'canceled', 'signed twice'],
  },
  /** The limit of refills per day is read and not held. */
  'refills-forgotten': {
    file: 'server/services/funding/refill.ts',
    text: 'limit: max_amount_per_day }',
    instead: "limit: max_amount_per_day + '000' }",
    caught_by: ['refills over the limit'],
  },
  /** Confirmed transactions are not checked again. */
  'confirmed-forgotten': {
    file: 'server/sender/receipts.ts',
    text: 'if (!newest || newest.number < from) return false',
    instead: 'if (from < 1e9) return false',
    caught_by: ['confirmed', 'canceled', 'failed', 'expired', 'paid 2 times'],
  },
  /** A transaction that has lost its block is never sent again. */
  'mined-forgotten': {
    file: 'server/domain/decide.ts',
    text: "replaced ? { do: 'return' } : { do: 'rest' }",
    instead: "replaced && false ? { do: 'return' } : { do: 'rest' }",
    caught_by: ['unfinished'],
  },
}

/** Throws when the sources no longer contain the text that a fault replaces. */
export function checkModelFaults(): void {
  for (const fault of Object.values(modelFaults)) checkFault(fault)
}
