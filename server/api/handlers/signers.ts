import { deletedIf, type Handlers, page } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import { createSigner, deleteSigner } from '../../services/signers.ts'

export const signers = (context: ServicesContext) =>
  ({
    createSigner: ({ body, caller, auditEntry }) => createSigner(context, caller, body, auditEntry),

    listSigners: ({ query }) => page(query, context.store.listSigners, (signer) => signer),

    getSigner: ({ path }) => context.store.getSigner(path.signer_id),

    deleteSigner: async ({ path, auditEntry }) =>
      deletedIf(await deleteSigner(context, path.signer_id, auditEntry), path.signer_id),
  }) satisfies Partial<Handlers>
