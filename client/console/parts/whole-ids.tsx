import { Children, cloneElement, isValidElement, type ReactNode } from 'react'

/** Texts whose words with hyphens, such as IDs, are kept on one line where they fit. What components render stays as it is. */
export const wholeIds = (node: ReactNode): ReactNode =>
  Children.map(node, (part) => {
    if (typeof part === 'string') return textOf(part)
    if (!isValidElement<{ children?: ReactNode }>(part) || part.props.children === undefined) return part
    return typeof part.type === 'string' ? cloneElement(part, {}, wholeIds(part.props.children)) : part
  })

/** Every other part of the split is a word with a hyphen. */
const textOf = (text: string): ReactNode =>
  text.split(/(\S+-[^\s.,:;?)]+)/).map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
      <span key={index} className="whole-id">
        {part}
      </span>
    ),
  )
