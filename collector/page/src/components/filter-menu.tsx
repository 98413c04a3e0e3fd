import type { ComponentChildren } from 'preact'
import { type Filter, filterTerm, withFilter } from '../lib/filters.ts'
import { shortCount } from '../lib/format.ts'
import { latest } from '../lib/live.ts'
import { hrefWith, route } from '../lib/router.ts'
import { termFor } from '../lib/search-line.ts'
import { visibleText } from '../lib/visible-text.ts'
import { Button, Icon, Text } from './basics.tsx'
import { Menu } from './menu.tsx'

const MENU_SOURCES = 20

/** The most frequent first. */
export function byCount(counts: Readonly<Record<string, number>> = {}): Array<[name: string, count: number]> {
  return Object.entries(counts)
    .filter(([name]) => name !== '')
    .sort(([, a], [, b]) => b - a)
}

export function sourceFilter(): Filter {
  const options = byCount(latest.value?.stats.bySource)
    .slice(0, MENU_SOURCES)
    .map(([name, count]) => ({ text: name, term: termFor('source', name), count }))
  return { title: 'Source', fields: ['source'], options }
}

function Frame({
  title,
  value,
  onRemove,
  children,
}: {
  title: string
  value: string | undefined
  onRemove(): void
  children: ComponentChildren
}) {
  return (
    <span class={`filter${value === undefined ? '' : ' is-set'}`}>
      <Menu
        label={
          value === undefined ? (
            <>
              <Icon name="plus" /> {title}
            </>
          ) : (
            <span class="filter-value">
              {title}: <Text value={value} />
            </span>
          )
        }
      >
        {children}
      </Menu>
      {value !== undefined && (
        <Button
          class="filter-remove"
          aria-label={`Remove ${title}: ${visibleText(value)}`}
          onClick={onRemove}
        >
          <Icon name="close" />
        </Button>
      )}
    </span>
  )
}

/** A choice that sets one term of the search. */
export function FilterMenu({
  filter,
  line,
  setLine,
}: {
  filter: Filter
  line: string
  setLine(line: string): void
}) {
  const { title, options, wordsOf = (term: string) => term.replace(/^[a-z]+:/, '') } = filter
  const own = filterTerm(line, filter)
  const chosen = options.find(({ term }) => term === own?.text)
  const set = (term: string | undefined) => setLine(withFilter(line, filter, term))
  return (
    <Frame title={title} value={own && (chosen?.text ?? wordsOf(own.text))} onRemove={() => set(undefined)}>
      {options.length === 0 && <p class="menu-text">Nothing has arrived yet.</p>}
      {options.map(({ text, term, count, isPart }) => (
        <Button
          key={term}
          class={isPart === true ? 'option is-part' : 'option'}
          aria-current={term === own?.text}
          onClick={() => set(term)}
        >
          <span class="option-text">
            <Text value={text} />
          </span>
          {count !== undefined && <span class="soft">{shortCount(count)}</span>}
        </Button>
      ))}
      {own !== undefined && (
        <>
          <hr />
          <Button onClick={() => setLine(`${withFilter(line, filter, undefined)} -${own.text}`.trim())}>
            Hide these instead
          </Button>
        </>
      )}
    </Frame>
  )
}

const TIMES: ReadonlyArray<readonly [from: string, text: string]> = [
  ['-5m', 'the last 5 minutes'],
  ['-1h', 'the last hour'],
  ['-24h', 'the last 24 hours'],
  ['-7d', 'the last 7 days'],
]

/** The range of time, which is in the address and not in the search. Any other range is a search: `received>=2026-05-17`. */
export function TimeFilter() {
  const { params } = route.value
  const from = params.get('from') ?? undefined
  const to = params.get('to') ?? undefined
  const isSet = from !== undefined || to !== undefined
  const set = (start?: string) => {
    location.hash = hrefWith({ from: start, to: undefined })
  }
  return (
    <Frame title="Time" value={isSet ? rangeInWords(from, to) : undefined} onRemove={() => set()}>
      {TIMES.map(([value, text]) => (
        <Button
          key={value}
          class="option"
          aria-current={value === from && to === undefined}
          onClick={() => set(value)}
        >
          {text.replace('the l', 'L')}
        </Button>
      ))}
    </Frame>
  )
}

/** In the API, `-15m` means "the last 15 minutes". */
function rangeInWords(from: string | undefined, to: string | undefined): string {
  const word = (at: string) =>
    at.startsWith('-')
      ? (TIMES.find(([value]) => value === at)?.[1] ?? `the last ${at.slice(1)}`)
      : new Date(at).toLocaleString('en-GB')
  if (from !== undefined && to !== undefined) return `${word(from)} to ${word(to)}`
  if (from === undefined) return `before ${word(to ?? '')}`
  return from.startsWith('-') ? word(from) : `since ${word(from)}`
}
