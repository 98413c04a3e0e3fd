import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { TEXT_FIELDS } from '../../../src/record.ts'
import { Button, Choice, Text } from '../components/basics.tsx'
import { copy } from '../components/copy.tsx'
import type { AddTerm } from '../components/event-cells.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { openAt } from '../components/menu.tsx'
import { helpFor } from '../lib/basics.ts'
import { compare, type Path, pathText } from '../lib/diff.ts'
import { href } from '../lib/router.ts'
import { termFor } from '../lib/search-line.ts'
import type { EventDetails, Message } from '../lib/types.ts'

type View = 'kept' | 'both' | 'first'

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
    ...Object.fromEntries(Object.entries(TEXT_FIELDS).map(([field, { search }]) => [field, search])),
  }
  const [first, ...rest] = path
  if (typeof value === 'object' && value !== null) return undefined
  if (rest.length === 0) return fields[String(first)] && termFor(fields[String(first)] ?? '', value)
  if (path.some((part) => typeof part === 'string' && !/^[A-Za-z_$][\w$-]*$/.test(part))) return undefined
  return termFor(path.join('.'), value)
}

export function EventMessage({ event, addTerm }: { event: EventDetails; addTerm: AddTerm }) {
  const { message, sent, first } = event
  const search = useSignal('')
  const view = useSignal<View>(event.reason === 'dedup_conflict' && first !== null ? 'first' : 'kept')
  const picked = useSignal<{ path: Path; value: unknown } | undefined>(undefined)
  const menu = useRef<HTMLDivElement>(null)
  const changes = useMemo(
    () => (sent === null || message === null ? undefined : compare(sent, message)),
    [sent, message],
  )
  const fromFirst = useMemo(
    () => (first?.message && message !== null ? compare(first.message, message) : undefined),
    [first, message],
  )
  const marked = useMemo(() => markedFields(event), [event])
  if (message === null) {
    return (
      <section class="panel-section">
        <h3>Message</h3>
        <p class="soft">This request could not be parsed as a message. Open the request to see its body.</p>
      </section>
    )
  }
  const views: Array<readonly [View, string]> = [['kept', 'As kept']]
  if (sent !== null) views.push(['both', 'Beside what was sent'])
  if (fromFirst !== undefined) views.push(['first', 'Compared with the first'])
  const onPick = (path: Path, value: unknown, at: HTMLElement) => {
    picked.value = { path, value }
    openAt(menu.current, at)
  }
  const tree = (value: Message, differences: ReturnType<typeof compare> | undefined) => (
    <JsonTree
      value={value}
      {...(differences === undefined ? {} : { changes: differences })}
      marked={marked}
      search={search.value}
      linkOf={linkOf}
      onPick={onPick}
    />
  )
  return (
    <section class="panel-section">
      <div class="section-head">
        <h3>Message</h3>
        {views.length > 1 && (
          <Choice
            label="Which message"
            value={view.value}
            options={views}
            onChoose={(next) => (view.value = next)}
          />
        )}
        <input
          type="search"
          class="small-search"
          aria-label="Search in the message"
          placeholder="Search in it"
          value={search.value}
          onInput={(input) => (search.value = input.currentTarget.value)}
        />
      </div>
      {view.value === 'kept' && tree(message, changes)}
      {view.value === 'both' && sent !== null && (
        <div class="side-by-side">
          <div>
            <h4>Sent</h4>
            {tree(sent, undefined)}
          </div>
          <div>
            <h4>Kept</h4>
            {tree(message, changes)}
          </div>
        </div>
      )}
      {view.value === 'first' && (
        <>
          <p class="soft">{differenceInWords(fromFirst?.size ?? 0)}</p>
          {tree(message, fromFirst)}
        </>
      )}
      <PickMenu menu={menu} picked={picked.value} addTerm={addTerm} />
    </section>
  )
}

function differenceInWords(differences: number): string {
  if (differences === 0) return 'This event is equal to the first event with this messageId.'
  return 'The marked values differ from the first event with this messageId. Only the first event counts.'
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
