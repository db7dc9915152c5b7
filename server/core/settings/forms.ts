import * as v from 'valibot'

// The forms of settings. A message says what must be written, and never quotes a value.

/** Defaults have the form of what an operator writes. */
export const integer = (minimum: number, maximum: number, otherwise: number) =>
  v.optional(anInteger(minimum, maximum), String(otherwise))

export const anInteger = (minimum: number, maximum: number) => {
  const form = `must be an integer from ${minimum} to ${maximum}`
  return v.pipe(
    v.string(),
    v.regex(/^[0-9]{1,9}$/, form),
    v.transform(Number),
    v.check((value) => value >= minimum && value <= maximum, form),
  )
}

export const text = (maximum: number) =>
  v.pipe(v.string(), v.maxLength(maximum, `must have at most ${maximum} characters`))

export const webUrl = v.pipe(text(2_048), v.regex(/^https?:\/\/[^\s/]/, 'must be an http or https URL'))

export const boolean = v.pipe(
  v.picklist(['true', 'false'], 'must be true or false'),
  v.transform((value) => value === 'true'),
)

/** Texts with commas between them. */
export const list = v.pipe(
  text(4_096),
  v.transform((items) => (items === '' ? [] : items.split(',').map((one) => one.trim()))),
)

export const listOf = (isItem: (item: string) => boolean, form: string) =>
  v.optional(
    v.pipe(
      list,
      v.check((items) => items.every(isItem), form),
    ),
    '',
  )
