import type { Ending, FirstBlock, ForeignUse } from '../../server/domain/decide.ts'
import { Proof } from '../../server/domain/proof.ts'
import type { FinalStatus } from '../../server/domain/statuses.ts'

const receipt = { hash: '0x1', block_number: 1, block_hash: '0x1', succeeded: true }
const proof = new Proof<ForeignUse>({ nonce: 0, hash: '0x1', receipt })

/** An end for tests of the store, which takes one in no other form and looks at the status only. */
export const endAs = (status: FinalStatus): Ending => ({ status, proof })

export const foreignUse = proof
export const firstBlock = new Proof<FirstBlock>({ genesis_hash: '0x1' })
