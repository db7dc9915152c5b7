import { join } from 'node:path'

/** As under `npm start`: what was compiled once is not compiled again, TypeScript included. */
const NODE_COMPILE_CACHE = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'evm-relayer-service')

/** What a process of Node takes from the environment of the tests. */
export const nodeEnvironment = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE }
