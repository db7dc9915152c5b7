import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { InterfaceAbi } from 'ethers'

/** A contract, ready to be deployed. */
export interface CompiledContract {
  abi: InterfaceAbi
  bytecode: string
}

const require = createRequire(import.meta.url)
const folder = join(import.meta.dirname, 'contracts')

/** Compiles a contract of the folder `contracts`, or a source of a package; it takes 1 to 3 s. */
export function compileSolidity(source: string, name: string): CompiledContract {
  const solc = require('solc')
  const input = {
    language: 'Solidity',
    sources: { [source]: { content: read(source) } },
    settings: {
      evmVersion: 'cancun',
      optimizer: { enabled: true },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  }
  const output = JSON.parse(
    solc.compile(JSON.stringify(input), { import: (path: string) => ({ contents: read(path) }) }),
  )
  const contract = output.contracts?.[source]?.[name]
  if (!contract)
    throw new Error(output.errors.map((error: { formattedMessage: string }) => error.formattedMessage).join(''))
  return { abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` }
}

const read = (path: string): string =>
  readFileSync(path.startsWith('@') ? require.resolve(path) : join(folder, path), 'utf8')
