import { type Command, Option } from 'commander'
import { type SendTransactionWithDataRequest, speedValues } from '../../generated/client.ts'
import { readWei } from './amounts.ts'

export interface PriceOptions {
  speed?: (typeof speedValues)[number]
  gasPrice?: string
  maxFee?: string
  priorityFee?: string
}

type Prices = Pick<
  SendTransactionWithDataRequest,
  'speed' | 'gas_price' | 'max_fee_per_gas' | 'max_priority_fee_per_gas'
>

export const addPrices = (command: Command): Command =>
  command
    .addOption(new Option('--speed <tier>', 'the fee tier (default: average)').choices(speedValues))
    .option('--gas-price <amount>', 'the gas price of a legacy transaction, for example 20gwei')
    .option('--max-fee <amount>', 'the first max_fee_per_gas, for example 30gwei')
    .option('--priority-fee <amount>', 'the first max_priority_fee_per_gas')

export const pricesOf = ({ speed, gasPrice, maxFee, priorityFee }: PriceOptions): Prices => ({
  ...(speed !== undefined && { speed }),
  ...(gasPrice !== undefined && { gas_price: readWei(gasPrice) }),
  ...(maxFee !== undefined && { max_fee_per_gas: readWei(maxFee) }),
  ...(priorityFee !== undefined && { max_priority_fee_per_gas: readWei(priorityFee) }),
})
