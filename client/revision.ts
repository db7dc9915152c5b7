/** The header for a change that was made from this revision; `*`: from any. */
export const ifMatch = (revision: string): { 'If-Match': string } => ({
  'If-Match': revision === '*' ? revision : `"${revision}"`,
})
