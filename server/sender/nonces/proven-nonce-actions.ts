import type { SignedTransaction } from '../../chain/nonce-search.ts'
import type { CountFact } from '../../chain/proofs.ts'
import type { ForeignUse, NeverSigned } from '../../domain/ending.ts'
import type { Proof } from '../../domain/proof.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { Spend, TransactionRow } from '../../domain/transaction-rows.ts'
import type { SenderContext } from '../context.ts'

/** The steps about nonces that cannot be taken back. Each takes the proof that it relies on. */
export interface Irreversible {
  /** Raises the nonce counter. `isDeep`: no reorganization removes what raised it. */
  raise(
    relayer: RelayerRow,
    to: number,
    proof: Proof<CountFact> | Proof<SignedTransaction>,
    evidence: string,
    isDeep: boolean,
  ): Promise<void>
  /**
   * Gives a transaction whose nonce somebody else used a new one: another transaction is mined there, or this one was never signed and
   * most endpoints count further. Resolves to whether it has one.
   */
  renumber(
    row: TransactionRow,
    proof: Proof<ForeignUse> | { unsigned: NeverSigned; used: Proof<CountFact> },
    reason: string,
    spending: Spend[],
  ): Promise<boolean>
  disable(relayer: RelayerRow, proof: Proof<unknown>, reason: string): Promise<void>
  enable(relayer: RelayerRow, proof: Proof<unknown>): Promise<void>
  /** Remembers and logs a transaction of the account that this service did not send. */
  noteForeign(relayer: RelayerRow, foreign: { nonce: number; hash: string | null }): Promise<void>
}

export function createIrreversible({ store, observer }: Pick<SenderContext, 'store' | 'observer'>): Irreversible {
  async function setDisabled(relayer: RelayerRow, disabledReason: string | null): Promise<void> {
    if (relayer.disabled_reason === disabledReason) return
    const systemDisabled = disabledReason !== null
    await store.updateRelayer(relayer.id, (current) => ({
      ...current,
      system_disabled: systemDisabled,
      disabled_reason: disabledReason,
    }))
  }

  return {
    async raise({ id, chain_id, address }, to, _proof, evidence, isDeep) {
      const { next_nonce } = await store.getAccount(chain_id, address)
      observer.nonceNoticed?.('nonce counter raised', { relayer_id: id, from: next_nonce, to, evidence })
      await store.raiseNonce(chain_id, address, to, isDeep)
    },
    renumber: async ({ row_id, revision }, proof, reason, spending) =>
      (await store.renumber(row_id, revision, 'used' in proof ? proof.unsigned : proof, reason, spending)) !==
      undefined,
    disable: (relayer, _proof, reason) => setDisabled(relayer, reason),
    enable: (relayer, _proof) => setDisabled(relayer, null),
    async noteForeign({ id, chain_id, address }, foreign) {
      if (!(await store.noteForeign({ chain_id, address }, foreign))) return
      observer.foreignTransaction?.({ relayer_id: id, ...foreign })
    },
  }
}
