import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { copy } from '../data/copy.ts'

const told_ms = 1_500

/** A button that copies a text, and says whether it did. */
export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [told, setTold] = useState<'Copied' | 'Not allowed: select it'>()
  async function run() {
    setTold((await copy(text)) ? 'Copied' : 'Not allowed: select it')
    setTimeout(() => setTold(undefined), told_ms)
  }
  const Icon = told === 'Copied' ? Check : Copy
  return (
    <button type="button" className="quiet small" aria-label={label} title={label} onClick={() => void run()}>
      <Icon className="icon" aria-hidden />
      {told ?? children}
    </button>
  )
}
