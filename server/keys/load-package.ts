import { KeyServiceFault } from './key-service.ts'

/** The commands that compile packages which have no binaries. */
const compilers: Record<string, string> = { pkcs11js: 'npm run build:pkcs11' }

/** Imports an optional package on its first use. Throws KeyServiceFault (`missing`) when it is not installed, or not compiled. */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const compile = compilers[name]
    const install = [`npm install --save-optional ${name}`, ...(compile === undefined ? [] : [compile])]
    if (code === 'ERR_MODULE_NOT_FOUND') throw missing(name, 'installed', install.join(' && '))
    // Without its binary, or with one for another machine, the package is there and does not load.
    if (compile && (code === 'MODULE_NOT_FOUND' || code === 'ERR_DLOPEN_FAILED'))
      throw missing(name, 'compiled', compile)
    throw error
  }
}

const missing = (name: string, state: string, command: string) =>
  new KeyServiceFault('missing', `the package ${name} is not ${state}: run ${command}, and restart the service`)
