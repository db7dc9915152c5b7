import { join } from 'node:path'

/** As in `npm start`: uses the compile cache, also for TypeScript. */
const NodeCompileCache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'evm-relayer-service')

/** The environment variables that a Node process inherits from the tests. */
export const nodeEnvironment = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: NodeCompileCache }
