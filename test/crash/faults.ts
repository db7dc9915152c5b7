import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { isFaultName, pathOf, seed, seededFaults } from './seeded-faults.ts'

// `node --import ./test/crash/faults.ts server/main.ts`: the service with one mistake in it, named by CRASH_FAULT. The text of
// one file is changed as it is loaded, so that production code needs no switch for it.

const name = process.env.CRASH_FAULT ?? ''
if (!isFaultName(name)) throw new Error(`CRASH_FAULT is none of ${Object.keys(seededFaults).join(', ')}`)
const fault = seededFaults[name]
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
