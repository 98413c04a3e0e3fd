import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { TEXT_FIELDS } from '../../../src/record.ts'
import { Block, Button, Text } from '../components/basics.tsx'
import { copy } from '../components/copy.tsx'
import { type AddTerm, titleOf } from '../components/event-cells.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { openAt } from '../components/menu.tsx'
import { helpFor } from '../lib/basics.ts'
import { compare, type Path, pathText } from '../lib/diff.ts'
import { exactDateAndTime } from '../lib/format.ts'
import { href, hrefWith } from '../lib/router.ts'
import { termFor } from '../lib/search-line.ts'
import type { EventDetails, EventRecord } from '../lib/types.ts'

function linkOf(path: Path, value: unknown): string | undefined {
  if (path.length !== 1 || typeof value !== 'string') return undefined
  const [field] = path
  if (field === 'userId' || field === 'anonymousId' || field === 'previousId')
    return href('users', { id: value })
  if (field === 'messageId') return href('events', { q: termFor('message', value) })
  if (field === 'event') return href('catalogue', { key: `track:${value}` })
  return undefined
}

/** Returns `undefined` if no search term can express the value. */
function termOf(path: Path, value: unknown): string | undefined {
  const fields: Record<string, string> = {
    event: 'event',
    type: 'type',
    ...TEXT_FIELDS,
  }
  const [first, ...rest] = path
  if (typeof value === 'object' && value !== null) return undefined
  if (rest.length === 0) return fields[String(first)] && termFor(fields[String(first)] ?? '', value)
  if (path.some((part) => typeof part === 'string' && !/^[A-Za-z_$][\w$-]*$/.test(part))) return undefined
  return termFor(path.join('.'), value)
}

interface MessageProps {
  event: EventDetails
  /** The event to compare this one with. */
  other: EventRecord | EventDetails | null
  addTerm: AddTerm
}

export function EventMessage({ event, other, addTerm }: MessageProps) {
  const { message, sent } = event
  const search = useSignal('')
  const picked = useSignal<{ path: Path; value: unknown } | undefined>(undefined)
  const menu = useRef<HTMLDivElement>(null)
  // Without another event, the differences are what the collector added or changed.
  const before = other?.message ?? sent
  const changes = useMemo(
    () => (before === null || message === null ? undefined : compare(before, message)),
    [before, message],
  )
  const marked = useMemo(() => markedFields(event), [event])
  if (message === null) {
    return (
      <Block title="Message">
        <p class="soft">This request could not be parsed as a message. Open the request to see its body.</p>
      </Block>
    )
  }
  const onPick = (path: Path, value: unknown, at: HTMLElement) => {
    picked.value = { path, value }
    openAt(menu.current, at)
  }
  return (
    <Block
      title="Message"
      beside={
        <input
          type="search"
          class="small-search"
          aria-label="Search in the message"
          placeholder="Search in it"
          value={search.value}
          onInput={(input) => (search.value = input.currentTarget.value)}
        />
      }
    >
      {other !== null && <Comparison event={event} other={other} isEqual={changes?.size === 0} />}
      <JsonTree
        value={message}
        changes={changes}
        marked={marked}
        search={search.value}
        linkOf={linkOf}
        onPick={onPick}
      />
      <PickMenu menu={menu} picked={picked.value} addTerm={addTerm} />
    </Block>
  )
}

interface ComparisonProps {
  event: EventDetails
  other: EventRecord | EventDetails
  isEqual: boolean
}

function Comparison({ event, other, isEqual }: ComparisonProps) {
  if (other.message === null) return <p class="soft">The other event has no message to compare with.</p>
  return (
    <p class="soft">
      {isEqual ? 'Equal to' : 'The marked values differ from'}{' '}
      <a href={hrefWith({ open: other.id, with: event.id })}>
        <Text value={titleOf(other)} /> of {exactDateAndTime(other.receivedAt)}
      </a>
      . {other !== event.first && <a href={hrefWith({ with: undefined })}>Compare no longer</a>}
    </p>
  )
}

function markedFields(event: EventDetails): ReadonlySet<string> {
  const field = event.reason === null ? null : (helpFor(event.reason)?.field ?? null)
  return new Set([...(field === null ? [] : [field]), ...event.violations.map(({ path }) => path)])
}

function PickMenu({
  menu,
  picked,
  addTerm,
}: {
  menu: { current: HTMLDivElement | null }
  picked: { path: Path; value: unknown } | undefined
  addTerm: AddTerm
}) {
  const term = picked && termOf(picked.path, picked.value)
  const close = () => menu.current?.hidePopover()
  const text =
    typeof picked?.value === 'string' ? picked.value : (JSON.stringify(picked?.value, null, 2) ?? '')
  return (
    <div ref={menu} popover="auto" class="menu" onClick={close}>
      {picked !== undefined && (
        <>
          <p class="menu-text">
            <Text value={pathText(picked.path)} />
          </p>
          {term !== undefined && (
            <>
              <Button onClick={() => addTerm(term)}>Only events with this value</Button>
              <Button onClick={() => addTerm(`-${term}`)}>Only events without this value</Button>
            </>
          )}
          <Button onClick={() => copy(text, 'Value')}>Copy the value</Button>
          <Button onClick={() => copy(pathText(picked.path), 'Path')}>Copy the path</Button>
        </>
      )}
    </div>
  )
}
