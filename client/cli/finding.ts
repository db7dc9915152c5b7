import { inLine } from './terminal.ts'

/** A result of `doctor`. `remedy`: the action that resolves the problem; null when there is none. */
export interface Finding {
  part: string
  state: 'ok' | 'warning' | 'problem'
  message: string
  remedy: string | null
}

export const fine = (part: string, message: string): Finding => ({
  part,
  state: 'ok',
  message: inLine(message),
  remedy: null,
})
export const warning = (part: string, message: string, remedy: string): Finding => ({
  part,
  state: 'warning',
  message: inLine(message),
  remedy,
})
export const problem = (part: string, message: string, remedy: string): Finding => ({
  part,
  state: 'problem',
  message: inLine(message),
  remedy,
})
