import { count } from '../data/format.ts'
import { CopyButton } from './copy.tsx'

const shown_characters = 400

/** Data may have a megabyte: shows a part of it, and copies all of it. */
export function Bytes({ name, value }: { name: string; value: string }) {
  const bytes = (value.length - 2) / 2
  return (
    <div className="bytes">
      <h3>
        {name} ({count(bytes)} bytes)
      </h3>
      <code>
        {value.slice(0, shown_characters)}
        {value.length > shown_characters && '…'}
      </code>
      {value.length > shown_characters && (
        <CopyButton text={value} label={`Copy all of ${name}`}>
          Copy all
        </CopyButton>
      )}
    </div>
  )
}
