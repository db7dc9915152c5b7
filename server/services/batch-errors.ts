import { ApiError } from '../domain/errors.ts'

/** Runs `work` for a member of a batch; a failure names the member in its paths (`/body/value` becomes `/body/items/3/value`). */
export async function ofMember<T>(list: string, index: number, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const place = `/body/${list}/${index}`
    const details = error.details.map(({ path, message }) => ({
      path: path.startsWith('/body') ? `${place}${path.slice('/body'.length)}` : path,
      message: path.startsWith('/body') ? message : `${message} (${place})`,
    }))
    throw new ApiError(error.code, error.message, details, error.headers, error.transaction)
  }
}
