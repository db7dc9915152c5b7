/** The options of a `select` that are shown as they are sent. */
export const Options = ({ of }: { of: readonly string[] | undefined }) =>
  of?.map((value) => (
    <option key={value} value={value}>
      {value}
    </option>
  ))
