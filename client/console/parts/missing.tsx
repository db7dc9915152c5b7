import { Link } from 'wouter'
import { RelayerError } from '../../index.ts'
import { Heading } from './heading.tsx'

export const isMissing = (error: unknown): boolean => error instanceof RelayerError && error.status === 404

/** In the place of a page about something that is unknown, or of an unknown page. `to`, `list`: where what there is is listed. */
export const Missing = ({ what, to, list }: { what: string; to: string; list: string }) => (
  <>
    <Heading name={`${what} not found`} />
    <p>
      It does not exist, it was deleted, or your API key has no access to it. <Link to={to}>Go to {list}</Link>
    </p>
  </>
)
