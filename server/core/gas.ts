const estimate_percent = 110

/**
 * The gas limit for an estimate: 10 % more, because the state may change before the transaction is mined. `bare`: the nodes' estimate for a
 * call that runs no code, whose cost changes with the rules of the chain only. The margin never exceeds the block's gas limit.
 */
export function withMargin(
  estimate: number,
  { bare, block_gas }: { bare: number | undefined; block_gas: number | undefined },
): number {
  if (estimate === bare) return estimate
  const most = block_gas !== undefined && block_gas >= estimate ? block_gas : Number.POSITIVE_INFINITY
  return Math.min(Math.ceil((estimate * estimate_percent) / 100), most)
}
