import { Toggle } from '@base-ui/react/toggle'
import { ToggleGroup } from '@base-ui/react/toggle-group'

/** One of a few values, as buttons beside each other. `texts`: what is shown for a value, where it is not the value itself. */
export const Segments = <Value extends string>({
  label,
  values,
  value,
  choose,
  texts = {},
}: {
  label: string
  values: readonly Value[]
  value: NoInfer<Value>
  choose(value: NoInfer<Value>): void
  texts?: Partial<Record<Value, string>>
}) => (
  <ToggleGroup
    className="choice"
    aria-label={label}
    value={[value]}
    onValueChange={([next]) => next !== undefined && choose(next as Value)}
  >
    {values.map((one) => (
      <Toggle key={one} value={one}>
        <span>{texts[one] ?? one}</span>
      </Toggle>
    ))}
  </ToggleGroup>
)
