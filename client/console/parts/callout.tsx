import { BellOff, CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { toneOf } from '../data/statuses.ts'

/** Shape and word of each severity, the worst first. */
export const severities = {
  critical: { Shape: CircleAlert, word: 'critical', many: 'critical' },
  warning: { Shape: TriangleAlert, word: 'warning', many: 'warnings' },
  info: { Shape: Info, word: 'notice', many: 'notices' },
  known: { Shape: BellOff, word: 'acknowledged', many: 'acknowledged' },
  succeeded: { Shape: CircleCheck, word: 'succeeded', many: 'succeeded' },
} as const

export type Severity = keyof typeof severities

export function Mark({ of }: { of: Severity }) {
  const { Shape, word } = severities[of]
  return <Shape className="icon" role="img" aria-label={word} />
}

/** What a page says first: a problem or a notice. `isAlert`: it is read out as soon as it appears. */
export const Callout = ({
  of,
  isAlert = false,
  children,
}: {
  of: Severity
  isAlert?: boolean
  children: ReactNode
}) => (
  <div className={`callout ${toneOf(of)}`} role={isAlert ? 'alert' : undefined}>
    <Mark of={of} />
    <div>{children}</div>
  </div>
)

/** What went wrong. */
export const Problem = ({ children }: { children: ReactNode }) => (
  <Callout of="critical" isAlert>
    {children}
  </Callout>
)
