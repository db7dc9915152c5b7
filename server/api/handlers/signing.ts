import { deleted, type Handlers, type OperationRequest, Page, page } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import { createSigner, deleteSigner } from '../../services/signers.ts'
import {
  signAuthorization,
  signMessage,
  signTransaction,
  signTypedData,
  signTypedDataFull,
} from '../../services/signing/requests.ts'
import type { SignatureAsker, SignatureContext } from '../../services/signing/sign.ts'
import { signBatch } from '../../services/signing/sign-batch.ts'

type Signing = Pick<
  Handlers,
  'signMessage' | 'signTypedData' | 'signTypedDataFull' | 'signTransaction' | 'signAuthorization' | 'signBatch'
>

export const signing = (context: SignatureContext & Pick<ServicesContext, 'countCalls'>): Signing => ({
  signMessage: (request) => signMessage(context, askerOf(request), request.body),
  signTypedData: (request) => signTypedData(context, askerOf(request), request.body),
  signTypedDataFull: (request) => signTypedDataFull(context, askerOf(request), request.body),
  signTransaction: (request) => signTransaction(context, askerOf(request), request.body),
  signAuthorization: (request) => signAuthorization(context, askerOf(request), request.body),
  async signBatch({ path, body: { items }, caller, authorize, beginAudit }) {
    await context.countCalls(caller, items.length - 1)
    const asker = { relayer_id: path.relayer_id, authorize, beginAudit }
    return Page.whole(await signBatch(context, asker, items))
  },
})

const askerOf = ({
  path,
  auditEntry,
  authorize,
}: Pick<OperationRequest<'signMessage'>, 'path' | 'auditEntry' | 'authorize'>): SignatureAsker => ({
  ...{ relayer_id: path.relayer_id, auditEntry, authorize },
})

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
