import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { pathOf, type Seed, seed } from './seeded-faults.ts'

// `node --import ./test/crash/faults.ts server/main.ts`: the service with one mistake in it, CRASH_FAULT as JSON. The text of
// one file is changed as it is loaded, so that production code needs no switch for it.

const fault = JSON.parse(process.env.CRASH_FAULT ?? '') as Seed
const url = pathToFileURL(pathOf(fault)).href

registerHooks({
  load(loaded, context, next) {
    const result = next(loaded, context)
    if (loaded !== url) return result
    if (result.source === undefined || result.source === null) throw new Error(`${url} came without its text`)
    const text = typeof result.source === 'string' ? result.source : Buffer.from(result.source as Uint8Array).toString()
    return { ...result, source: seed(fault, text) }
  },
})
