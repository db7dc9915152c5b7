const word = /^[A-Za-z_]{1,31}(?:\[\w{0,9}\])?$/

/**
 * A name that the contract does not know, as the caller is told of it: a word, which a slip of the pen is. A key or a token that was
 * put in the place of a name stays out of the answer, and out of what keeps answers.
 */
export const shownName = (name: string): string => (word.test(name) ? name : '*')
