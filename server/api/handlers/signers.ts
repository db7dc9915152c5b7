import { deleted, type Handlers, page } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import { createSigner, deleteSigner } from '../../services/signers.ts'

type Signers = Pick<Handlers, 'createSigner' | 'listSigners' | 'getSigner' | 'deleteSigner'>

export const signers = (context: ServicesContext): Signers => ({
  createSigner: ({ body, caller, auditEntry }) => createSigner(context, caller, body, auditEntry),

  listSigners: ({ query }) => page(query, context.store.listSigners, (signer) => signer),

  getSigner: ({ path }) => context.store.getSigner(path.signer_id),

  async deleteSigner({ path, auditEntry }) {
    const isDeleted = await deleteSigner(context, path.signer_id, auditEntry)
    return isDeleted ? deleted(path.signer_id) : undefined
  },
})
