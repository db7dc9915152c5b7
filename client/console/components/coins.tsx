import { amount } from '../data/format.ts'
import { useSymbols } from '../data/resources.ts'

/** An amount in the coin of a network. */
export const Coins = ({ wei, network }: { wei: string | null; network: string }) => amount(wei, useSymbols()(network))
