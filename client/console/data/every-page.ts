/** The items of all pages of a list. */
export async function everyPage<Item>(
  read: (page: number) => Promise<{ data: Item[]; pagination: { total_items: number } }>,
): Promise<Item[]> {
  const items: Item[] = []
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await read(page)
    items.push(...data)
    if (data.length === 0 || items.length >= pagination.total_items) return items
  }
}
