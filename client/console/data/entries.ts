/** One of the fields of an entry. `isAddress`: known ones can be chosen. `isAmount`: of the token of the first field. `values`: it is one of these. */
export interface EntryPart {
  label: string
  placeholder?: string
  isAddress?: boolean
  isAmount?: boolean
  values?: readonly (readonly [value: string, text: string])[]
}

/** The lines of a text that have words. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The words or lines of a text. */
export const listOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')
