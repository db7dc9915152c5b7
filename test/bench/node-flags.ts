/** Those of `npm start`, for a process whose folder is the project's. */
export const nodeFlags = [
  '--require',
  './server/compile-cache.cjs',
  '--expose-gc',
  '--max-semi-space-size=8',
  '--heap-growing-percent=50',
  '--v8-pool-size=1',
]
