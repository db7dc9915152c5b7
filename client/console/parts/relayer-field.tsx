import { useId } from 'react'
import { useRelayerIds } from '../data/overview.ts'

/** The ID of a relayer, which may be typed or chosen. */
export function RelayerField({ value, set }: { value: string; set(relayer_id: string): void }) {
  const relayers = useRelayerIds()
  const options = useId()
  return (
    <>
      <label>
        Relayer
        <input
          name="relayer_id"
          list={options}
          value={value}
          required
          spellCheck={false}
          autoComplete="off"
          placeholder="Choose one"
          onChange={(event) => set(event.target.value)}
        />
      </label>
      <datalist id={options}>
        {relayers.data?.map(({ id }) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </>
  )
}
