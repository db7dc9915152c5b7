/** Copies a text; false: the browser does not allow it. Over plain HTTP there is no `navigator.clipboard`. */
export async function copy(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    const done = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
    if (done) return true
  }
  const field = document.createElement('textarea')
  field.value = text
  // A dialog takes the focus back from everything outside of it.
  const place = document.querySelector('[role="dialog"]') ?? document.body
  const before = document.activeElement
  place.append(field)
  field.select()
  const done = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return done
}
