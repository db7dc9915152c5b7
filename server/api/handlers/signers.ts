import { deleted, type Handlers, page } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import { createSigner } from '../../services/signers.ts'
import { conflictAt } from '../http/errors.ts'

export function signers(
  context: ServicesContext,
): Pick<Handlers, 'createSigner' | 'listSigners' | 'getSigner' | 'deleteSigner'> {
  const { store } = context

  return {
    createSigner: ({ body, caller, auditEntry }) => createSigner(context, caller, body, auditEntry),

    listSigners: ({ query }) => page(query, store.listSigners, (signer) => signer),

    getSigner: ({ path }) => store.getSigner(path.signer_id),

    async deleteSigner({ path, auditEntry }) {
      const outcome = await store.deleteSigner(path.signer_id, auditEntry)
      if (outcome === 'missing') return undefined
      if (outcome === 'in_use')
        throw conflictAt('in_use', '/path/signer_id', 'a relayer uses this signer; delete the relayer first')
      return deleted(path.signer_id)
    },
  }
}
