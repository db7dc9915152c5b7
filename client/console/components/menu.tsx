import { Menu as BaseMenu } from '@base-ui/react/menu'
import { Ellipsis } from 'lucide-react'
import { press } from '../data/press-button.ts'

interface Choice {
  /** What the menu shows. */
  text: string
  /** The title, or the command, of the dialog that it opens, which an `Action` on the page has. */
  opens: string
  tone?: 'danger'
}

/** The actions that are used less often. `of`: what they are about. */
export const Menu = ({ of, choices }: { of: string; choices: Choice[] }) => (
  <BaseMenu.Root modal={false}>
    <BaseMenu.Trigger className="more" aria-label={`More actions of ${of}`} title="More actions">
      <Ellipsis className="icon" aria-hidden />
    </BaseMenu.Trigger>
    <BaseMenu.Portal>
      <BaseMenu.Positioner className="menu-place" align="end" sideOffset={4}>
        <BaseMenu.Popup className="menu-list">
          {choices.map(({ text, opens, tone }) => (
            <BaseMenu.Item key={text} className={tone} onClick={() => press(opens)}>
              {text}
            </BaseMenu.Item>
          ))}
        </BaseMenu.Popup>
      </BaseMenu.Positioner>
    </BaseMenu.Portal>
  </BaseMenu.Root>
)
