import { v7 } from 'uuid'

/** A UUID of version 7 (RFC 9562, 5.7): ids that are made later sort later, to the millisecond. */
export const makeId = (): string => v7()
