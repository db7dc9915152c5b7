import { Menu as BaseMenu } from '@base-ui/react/menu'
import { Ellipsis } from 'lucide-react'
import { Children, type ComponentProps, isValidElement, type ReactElement, type ReactNode } from 'react'
import { press } from '../data/press-button.ts'
import { type Action, commandOf, InMenu } from './action.tsx'

const isAction = (child: ReactNode): child is ReactElement<ComponentProps<typeof Action>> => isValidElement(child)

/** The actions that are used less often: of each of its children, a line that opens its dialog. `of`: what they are about. */
export const Menu = ({ of, children }: { of: string; children: ReactNode }) => (
  <InMenu value>
    <BaseMenu.Root modal={false}>
      <BaseMenu.Trigger className="more" aria-label={`More actions of ${of}`} title="More actions">
        <Ellipsis className="icon" aria-hidden />
      </BaseMenu.Trigger>
      <BaseMenu.Portal>
        <BaseMenu.Positioner className="menu-place" align="end" sideOffset={4}>
          <BaseMenu.Popup className="menu-list">
            {Children.toArray(children)
              .filter(isAction)
              .map(({ key, props }) => (
                <BaseMenu.Item key={key} className={props.tone} onClick={() => press(commandOf(props))}>
                  {props.label}
                </BaseMenu.Item>
              ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
    {children}
  </InMenu>
)
