import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { pathOf, type Seed, seed } from './seeded-faults.ts'

// `node --import ./test/crash/faults.ts server/main.ts`: the service with mistakes in it, CRASH_FAULT as JSON (one, or a list). The text of
// files is changed as they are loaded, so that production code needs no switch for it.

const faults = [JSON.parse(process.env.CRASH_FAULT ?? '') as Seed | Seed[]].flat()
const urlOf = (fault: Seed) => pathToFileURL(pathOf(fault)).href

registerHooks({
  load(loaded, context, next) {
    const result = next(loaded, context)
    const its = faults.filter((fault) => urlOf(fault) === loaded)
    if (its.length === 0) return result
    if (result.source === undefined || result.source === null) throw new Error(`${loaded} came without its text`)
    const text = typeof result.source === 'string' ? result.source : Buffer.from(result.source as Uint8Array).toString()
    return { ...result, source: its.reduce((source, fault) => seed(fault, source), text) }
  },
})
