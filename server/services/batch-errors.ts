import { DomainError, type Fault, type Field } from '../domain/errors.ts'

/** Runs `work` for a member of a batch. A failure names the member: the fault of a value gets its path there. */
export async function withBatchIndex<T>(list: string, index: number, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DomainError) || error.faults.length === 0) throw error
    const member: Field = [list, index]
    const faults = error.faults.map(
      (fault): Fault =>
        fault.of === 'input' ? { ...fault, field: [...member, ...fault.field] } : { ...fault, member },
    )
    throw new DomainError(error.code, faults, error.data)
  }
}
