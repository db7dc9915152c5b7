/** A map for what can be found out again: it drops its oldest entry when it has `max` entries and gets another. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number

  constructor(max: number) {
    super()
    this.#max = max
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#max && !this.has(key)) this.delete(this.keys().next().value as Key)
    return super.set(key, value)
  }

  /** The value of the key; a new one when it has none. */
  of(key: Key, make: () => Value): Value {
    const known = this.get(key)
    if (known !== undefined) return known
    const made = make()
    this.set(key, made)
    return made
  }
}

/**
 * What was read from rows, kept while the store's generation is unchanged: a change by any process applies from the next call on.
 * Undefined is not kept.
 */
export class GenerationCache<Value> {
  readonly #generation: () => Promise<number>
  readonly #values: BoundedMap<string, Value>
  readonly #onChange: () => void
  #known = 0

  constructor(generation: () => Promise<number>, max: number, onChange: () => void = () => undefined) {
    this.#generation = generation
    this.#values = new BoundedMap(max)
    this.#onChange = onChange
  }

  async find(key: string, read: () => Promise<Value>): Promise<Value> {
    const generation = await this.#generation()
    if (generation !== this.#known) {
      this.#values.clear()
      this.#known = generation
      this.#onChange()
    }
    const known = this.#values.get(key)
    if (known !== undefined) return known
    const value = await read()
    // What was read while the generation changed may be outdated: it is used once and not kept.
    if (value !== undefined && (await this.#generation()) === generation && this.#known === generation) {
      this.#values.set(key, value)
    }
    return value
  }
}
