import { KeyServiceFault } from './key-service.ts'

/** Imports an optional package on its first use. Throws KeyServiceFault (`missing`) when it is not installed. */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new KeyServiceFault(
      'missing',
      `the package ${name} is not installed: run npm install --save-optional ${name}, and restart the service`,
    )
  }
}
