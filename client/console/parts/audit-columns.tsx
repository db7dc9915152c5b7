import { Link } from 'wouter'
import type { AuditEntry } from '../../index.ts'
import { count, short } from '../data/format.ts'
import { callerName } from '../data/names.ts'
import { operationText } from '../data/operations.ts'
import { Badge } from './badge.tsx'
import { CopyButton } from './copy.tsx'
import { Copyable, RelayerLink, transactionPath } from './links.tsx'
import { RowTime } from './moment.tsx'
import type { Column } from './table.tsx'

/** An entry of the audit trail as a row. */
export const audit_columns: Column<AuditEntry>[] = [
  {
    name: 'Operation',
    isWhole: true,
    cell: ({ operation }) => <span title={operation}>{operationText(operation)}</span>,
  },
  { name: 'Time', isTime: true, isPlain: true, cell: ({ at }) => <RowTime at={at} /> },
  { name: 'Caller', isPlain: true, cell: ({ caller }) => callerName(caller) },
  { name: 'Relayer', cell: ({ relayer_id }) => (relayer_id === null ? null : <RelayerLink id={relayer_id} />) },
  { name: 'Subject', cell: (its) => its.subject && <Subject its={its} subject={its.subject} /> },
  {
    name: 'Result',
    isWhole: true,
    isBeside: true,
    cell: ({ result, count: times }) => (
      <span title={`HTTP ${result}`}>
        <Badge state={result >= 400 ? 'refused' : 'succeeded'} />
        {times > 1 && ` × ${count(times)}`}
      </span>
    ),
  },
  { name: 'Entry', isNumber: true, cell: ({ sequence }) => count(sequence) },
]

/** The id of a transaction has a link to it. */
function Subject({ its: { operation, relayer_id }, subject }: { its: AuditEntry; subject: string }) {
  const isTransaction = relayer_id !== null && /^(?:send|replace|cancel).*Transaction$/.test(operation)
  if (!isTransaction) return <Copyable value={subject} />
  return (
    <span className="copyable">
      <Link to={transactionPath({ relayer_id, id: subject })}>
        <code title={subject} className="short">
          {short(subject)}
        </code>
      </Link>
      <CopyButton text={subject} label={`Copy ${subject}`} />
    </span>
  )
}
