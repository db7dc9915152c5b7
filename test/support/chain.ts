import { onTestFinished } from 'vitest'
import { type Anvil, type AnvilOptions, startAnvil } from './anvil.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'

/** A chain of the test's own; it ends with the test. */
export async function testChain(options: AnvilOptions = {}): Promise<Anvil> {
  const chain = await startAnvil(options)
  onTestFinished(() => chain.stop())
  return chain
}

/** A fault proxy of the test's own in front of the chain; it ends with the test. */
export async function testFaultProxy(chain: Anvil): Promise<FaultProxy> {
  const proxy = await startFaultProxy(chain.url)
  onTestFinished(() => proxy.stop())
  return proxy
}
