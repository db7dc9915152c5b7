import { type Handlers, type OperationRequest, Page } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import {
  signAuthorization,
  signMessage,
  signTransaction,
  signTypedData,
  signTypedDataHashes,
} from '../../services/signing/requests.ts'
import type { SignatureAsker, SignatureContext } from '../../services/signing/sign.ts'
import { signBatch } from '../../services/signing/sign-batch.ts'

export const signing = (context: SignatureContext & Pick<ServicesContext, 'countCalls'>) =>
  ({
    signMessage: (request) => signMessage(context, askerOf(request), request.body),
    signTypedDataHashes: (request) => signTypedDataHashes(context, askerOf(request), request.body),
    signTypedData: (request) => signTypedData(context, askerOf(request), request.body),
    signTransaction: (request) => signTransaction(context, askerOf(request), request.body),
    signAuthorization: (request) => signAuthorization(context, askerOf(request), request.body),
    async signBatch({ path, body: { items }, caller, authorize, beginAudit }) {
      await context.countCalls(caller, items.length - 1)
      const asker = { relayer_id: path.relayer_id, authorize, beginAudit }
      return Page.whole(await signBatch(context, asker, items))
    },
  }) satisfies Partial<Handlers>

const askerOf = ({
  path,
  auditEntry,
  authorize,
}: Pick<OperationRequest<'signMessage'>, 'path' | 'auditEntry' | 'authorize'>): SignatureAsker => ({
  ...{ relayer_id: path.relayer_id, auditEntry, authorize },
})
