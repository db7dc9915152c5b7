/** The connection was lost at a commit: the changes were made or not. */
export class UnknownOutcome extends Error {}
