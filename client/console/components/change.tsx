import { memberText } from './members.ts'

/** What became of a member: `Average block time: not set → 500 ms`. */
export const Change = ({ member, before, after }: Record<'member' | 'before' | 'after', string>) => (
  <>
    {memberText(member)}: <del>{before}</del> → <ins>{after}</ins>
  </>
)
