import { Component, type ReactNode } from 'react'
import { Problem } from './callout.tsx'

interface Props {
  /** Where the reader is: at another place it is tried again. */
  place?: string
  children: ReactNode
}

/** Keeps the rest of the console when a part of it cannot be shown, for example because its program could not be loaded. */
export class Boundary extends Component<Props, { isBroken: boolean }> {
  override state = { isBroken: false }

  static getDerivedStateFromError = () => ({ isBroken: true })

  override componentDidUpdate({ place }: Props): void {
    if (place !== this.props.place && this.state.isBroken) this.setState({ isBroken: false })
  }

  override render(): ReactNode {
    if (!this.state.isBroken) return this.props.children
    return (
      <Problem>
        This part of the console could not be loaded.{' '}
        <button type="button" onClick={() => location.reload()}>
          Load the console again
        </button>
      </Problem>
    )
  }
}
