import type { ComponentChildren, Ref } from 'preact'

interface ScreenProps {
  title: string
  /** Beside the title, in one short phrase. */
  state?: ComponentChildren
  actions?: ComponentChildren
  /** The row of filters under the title. */
  tools?: ComponentChildren
  /** Scrolls below the title and the tools; a list scrolls by itself, and is passed as `list` instead. */
  children?: ComponentChildren
  list?: ComponentChildren
  /** The details of one item, beside the rest. */
  panel?: ComponentChildren
  class?: string
  paneRef?: Ref<HTMLElement>
}

/** The layout of all screens: title and actions, filters, content, and the details of one item beside it. */
export function Screen(props: ScreenProps) {
  const { title, state, actions, tools, children, list, panel, class: className = '', paneRef } = props
  return (
    <div class="split">
      <section class={`pane ${className}`} aria-label={title} {...(paneRef && { ref: paneRef })}>
        <header class="screen-head">
          <h2>{title}</h2>
          <div class="screen-state">{state}</div>
          <div class="screen-actions">{actions}</div>
        </header>
        {tools !== undefined && <div class="tools">{tools}</div>}
        {list ?? <div class="scroll">{children}</div>}
      </section>
      {panel}
    </div>
  )
}
