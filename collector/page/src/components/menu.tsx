import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'

/** Places the popover below the opener, or above the opener if there is no room, but always inside the window. */
function place(popover: HTMLElement, opener: HTMLElement): void {
  const from = opener.getBoundingClientRect()
  const { offsetWidth, offsetHeight } = popover
  const left = Math.min(from.left, document.documentElement.clientWidth - offsetWidth - 8)
  const isBelow = from.bottom + offsetHeight + 8 < innerHeight || from.top < offsetHeight
  popover.style.left = `${Math.max(8, left)}px`
  popover.style.top = `${Math.max(8, isBelow ? from.bottom + 4 : from.top - offsetHeight - 4)}px`
}

/** The browser closes the popover on Escape or a click elsewhere. */
export function openAt(popover: HTMLElement | null, opener: HTMLElement): void {
  popover?.showPopover()
  // The content is drawn after the current task. Before that, the height of the popover is not known.
  requestAnimationFrame(() => {
    if (popover === null) return
    place(popover, opener)
    // Tab would not move into the popover, because the popover is at another place in the document.
    popover.querySelector('button')?.focus()
  })
}

/** Moves the focus to the next or previous element of an open menu. A field keeps its arrow keys. */
function moveIn(popover: HTMLElement | null, event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  const isField = (event.target as Element).matches('input, select, textarea')
  if (popover === null || step === undefined || isField || !popover.matches(':popover-open')) return
  const items = [...popover.querySelectorAll<HTMLElement>('a, button, input, select')]
  const now = items.indexOf(document.activeElement as HTMLElement)
  const next = now === -1 && step === -1 ? items.length - 1 : (now + step + items.length) % items.length
  event.preventDefault()
  items[next]?.focus()
}

/** The menu closes when a link or a button in it is clicked. */
export function Menu({
  label,
  title,
  class: className = '',
  children,
}: {
  label: ComponentChildren
  /** The text for screen readers, if the label is only an icon. */
  title?: string
  class?: string
  children: ComponentChildren
}) {
  const id = useId()
  const popover = useRef<HTMLDivElement>(null)
  const opener = useRef<HTMLButtonElement>(null)
  return (
    <>
      <button
        type="button"
        ref={opener}
        class={className}
        popovertarget={id}
        onKeyDown={(event) => moveIn(popover.current, event)}
        {...(title === undefined ? {} : { 'aria-label': title, title })}
      >
        {label}
      </button>
      <div
        id={id}
        ref={popover}
        popover="auto"
        class="menu"
        onKeyDown={(event) => moveIn(popover.current, event)}
        onToggle={(event) => {
          if (event.newState === 'open' && popover.current !== null && opener.current !== null) {
            place(popover.current, opener.current)
          }
        }}
        onClick={(event) => {
          if ((event.target as Element).closest('a, button') !== null) popover.current?.hidePopover()
        }}
      >
        {children}
      </div>
    </>
  )
}
