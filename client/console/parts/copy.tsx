import { useState } from 'react'
import { copy } from '../data/copy.ts'

const told_ms = 1_500

/** A button that copies a text, and says whether it did. */
export function CopyButton({ text, label, children = 'Copy' }: { text: string; label: string; children?: string }) {
  const [told, setTold] = useState<string>()
  async function run() {
    setTold((await copy(text)) ? 'Copied' : 'Not allowed: select it')
    setTimeout(() => setTold(undefined), told_ms)
  }
  return (
    <button type="button" aria-label={label} onClick={() => void run()}>
      {told ?? children}
    </button>
  )
}
