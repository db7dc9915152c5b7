import type { Fragment } from 'ethers/abi'
import { isError, isFunction, keptFragments, readAbiEntry } from '../../domain/decoding/abi.ts'
import { conflict, unknownNetwork } from '../../domain/errors.ts'
import { deletedIf, type Handlers, page } from '../../domain/operation.ts'
import { readAddress } from '../../domain/values.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import type { ServicesContext } from '../../services/context.ts'

/** Parsing the usual entry takes 0.04 ms, the largest 3 ms. */
const entriesPerTurn = 20
const notCalled = /^\s*(?:constructor|receive|fallback)\b/

export function abis({ store, makeId }: Pick<ServicesContext, 'store' | 'makeId'>) {
  return {
    async createAbi({ body, auditEntry }) {
      const { id = makeId(), network } = body
      const address = readAddress(body.address, ['address'])
      const entries = await readEntries(body.abi)
      const functions = entries.filter(isFunction)
      const abi = {
        id,
        network,
        address,
        name: body.name ?? address,
        abi: entries.map((entry) => entry.format('full')),
      }
      auditEntry.subject = id
      const outcome = await store.createAbi(
        {
          ...abi,
          functions: Object.fromEntries(functions.map((entry) => [entry.selector, entry.format('full')])),
          errors: keptFragments(entries.filter(isError)),
        },
        auditEntry,
      )
      switch (outcome) {
        case 'unknown_network':
          throw unknownNetwork()
        case 'id_taken':
          throw conflict('already_exists', ['id'], 'an ABI with this id already exists')
        case 'contract_taken':
          throw conflict('already_exists', ['address'], 'this contract has an ABI already; delete that first')
        default:
          return outcome
      }
    },

    listAbis: ({ query }) => page(query, store.listAbis, (abi) => abi),

    getAbi: ({ path }) => store.getAbi(path.abi_id),

    deleteAbi: async ({ path, auditEntry }) => deletedIf(await store.deleteAbi(path.abi_id, auditEntry), path.abi_id),
  } satisfies Partial<Handlers>
}

async function readEntries(abi: (string | Record<string, unknown>)[]): Promise<Fragment[]> {
  const entries: Fragment[] = []
  for (const [index, entry] of abi.entries()) {
    if (index % entriesPerTurn === 0) await yieldToEventLoop()
    if (notCalled.test(typeof entry === 'string' ? entry : `${entry.type}`)) continue
    entries.push(readAbiEntry(entry, ['abi', index]))
  }
  return entries
}
