/** As `weiOf` reads it. */
const amount_pattern = '[0-9]+([.][0-9]{1,18})?'

export interface TransactionForm {
  to: string
  value: string
  data: string
  /** A function of the receiver, with its arguments, in the place of the data. */
  called: string
  args: string
  gas_limit: string
}

/** The content of a transaction. `symbol`: the unit of its value. */
export const TransactionFields = ({
  form,
  set,
  symbol,
}: {
  form: TransactionForm
  set(name: keyof TransactionForm): (event: { target: { value: string } }) => void
  symbol: string
}) => (
  <>
    <label>
      To (empty: creates a contract)
      <input name="to" spellCheck={false} value={form.to} onChange={set('to')} />
    </label>
    <label>
      Value in {symbol}
      <input
        name="value"
        required
        inputMode="decimal"
        pattern={amount_pattern}
        value={form.value}
        onChange={set('value')}
      />
    </label>
    <label>
      Function (optional)
      <input
        name="function"
        spellCheck={false}
        placeholder="transfer(address,uint256)"
        value={form.called}
        onChange={set('called')}
      />
    </label>
    {form.called.trim() === '' ? (
      <label>
        Data
        <textarea name="data" rows={3} spellCheck={false} value={form.data} onChange={set('data')} />
      </label>
    ) : (
      <label>
        Arguments, one per line; lists and tuples as JSON
        <textarea name="args" rows={3} spellCheck={false} value={form.args} onChange={set('args')} />
      </label>
    )}
    <label>
      Gas limit (empty: it is estimated)
      <input name="gas_limit" inputMode="numeric" pattern="[0-9]*" value={form.gas_limit} onChange={set('gas_limit')} />
    </label>
  </>
)
