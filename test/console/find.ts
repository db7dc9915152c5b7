import type { Page } from 'playwright-core'

/** The field of the search that is open. */
export const field = (page: Page) => page.getByRole('dialog').getByLabel(/^Find/)
export const results = (page: Page) => page.getByRole('listbox', { name: 'Search results' }).getByRole('option')

/** Opens the search, and types the text. */
export async function find(page: Page, text: string) {
  await page.keyboard.press('Control+k')
  await field(page).fill(text)
}
