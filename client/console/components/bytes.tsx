import type { ReactNode } from 'react'
import { counted } from '../data/format.ts'
import { CopyButton } from './values.tsx'

const shownCharacters = 400

interface BytesProps {
  name: string
  value: string
  /** At first, where its meaning is shown beside it. */
  isClosed?: boolean
  /** What the data say. */
  children?: ReactNode
}

/** Data may have a megabyte: shows a part of it, and copies all of it. */
export function Bytes({ name, value, isClosed = false, children }: BytesProps) {
  const bytes = (value.length - 2) / 2
  return (
    <details className="bytes" open={!isClosed}>
      <summary>
        {name} ({counted(bytes, 'byte')})
      </summary>
      {children}
      <code>
        {value.slice(0, shownCharacters)}
        {value.length > shownCharacters && '…'}
      </code>
      <CopyButton text={value} label={`Copy all of ${name}`}>
        Copy all
      </CopyButton>
    </details>
  )
}
