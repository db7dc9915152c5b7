import type { Notification } from '../../generated/openapi.ts'

export type Row = Omit<Notification, 'has_signing_key'> & { has_signing_key: 0 | 1 }

export const read = (row: Row): Notification => ({ ...row, has_signing_key: row.has_signing_key === 1 })
