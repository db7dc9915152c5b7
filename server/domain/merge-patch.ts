export type MergePatch<T> = { [Member in keyof T]?: T[Member] | null }

/** RFC 7396 for an object whose members are values: null removes a member, an absent one stays. Null for the whole removes all. */
export function mergePatch<T extends object>(current: T, patch: MergePatch<T> | null): Partial<T> {
  if (patch === null) return {}
  return Object.fromEntries(
    Object.entries({ ...current, ...patch }).filter(([, value]) => value !== null && value !== undefined),
  ) as Partial<T>
}
