import { Menu } from '@base-ui/react/menu'
import { Ellipsis } from 'lucide-react'
import { press } from '../data/commands.ts'

interface Choice {
  /** What the menu shows. */
  text: string
  /** The title, or the command, of the dialog that it opens, which an `Action` on the page has. */
  opens: string
  tone?: 'danger'
}

/** The actions that are used less often. `of`: what they are about. */
export const More = ({ of, choices }: { of: string; choices: Choice[] }) => (
  <Menu.Root modal={false}>
    <Menu.Trigger className="more" aria-label={`More actions of ${of}`} title="More actions">
      <Ellipsis className="icon" aria-hidden />
    </Menu.Trigger>
    <Menu.Portal>
      <Menu.Positioner className="menu-place" align="end" sideOffset={4}>
        <Menu.Popup className="menu-list">
          {choices.map(({ text, opens, tone }) => (
            <Menu.Item key={text} className={tone} onClick={() => press(opens)}>
              {text}
            </Menu.Item>
          ))}
        </Menu.Popup>
      </Menu.Positioner>
    </Menu.Portal>
  </Menu.Root>
)
