/**
 * Shares one call of `read` among all who ask in one turn of the event loop. It runs at the end of the turn, after they have all
 * asked, so each of them sees everything that had changed before it asked.
 */
export function oncePerTurn<T>(read: () => T | Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined
  return () => {
    shared ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        shared = undefined
        try {
          resolve(read())
        } catch (error) {
          reject(error)
        }
      })
    })
    return shared
  }
}
