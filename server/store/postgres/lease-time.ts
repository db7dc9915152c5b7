/**
 * The times of leases. A server that fails is noticed after its last renewal (at most `beat_ms` before) and `lease_ms`, by the next beat of
 * another one: 1.25 to 1.75 s. The rest of 2 s is for taking its leases and its first work.
 */

/**
 * A server whose registration was not renewed for so long counts as dead. Five beats in a row must be lost: pauses for garbage, commits of a
 * busy database and a machine with twice as much to do as it can are shorter. A server that is taken for dead by mistake does its work
 * again later, and nothing twice: every commit checks its leases.
 */
export const leaseMs = 1_500
/**
 * Each is one short statement: whether the database answers, its clock, the renewal of the registration, and the search for servers whose
 * registration is over. Several fit into a lease.
 */
export const beatMs = 250
/** A server stops this long before its leases may be taken over: from the question whether it has a lease to the signature. */
export const marginMs = 200
/**
 * A database transaction of a server that is gone or stalled ends, and releases its locks, before the leases of that server are taken over.
 * Between two statements, nothing but this process is waited for.
 */
export const idleInTransactionMs = 1_200
