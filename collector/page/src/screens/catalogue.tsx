import { useSignal } from '@preact/signals'
import { Fragment } from 'preact'
import { Ago, Icon, Name, Nothing, Pill, QueryState, Text, type Tone } from '../components/basics.tsx'
import { Sparkline } from '../components/charts.tsx'
import { Menu } from '../components/menu.tsx'
import { Screen } from '../components/screen.tsx'
import { count, plural, shortCount } from '../lib/format.ts'
import { go, href, hrefWith, route } from '../lib/router.ts'
import type { Catalogue, CatalogueEntry } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { visibleText } from '../lib/visible-text.ts'
import { EntryPanel, entryTitle } from './catalogue-entry.tsx'

export function CatalogueScreen() {
  const { params } = route.value
  const key = params.get('key') ?? undefined
  const filter = useSignal('')
  const query = useQuery<Catalogue>('api/catalogue')
  const { data } = query
  const wanted = filter.value.trim().toLowerCase()
  const entries = (data?.entries ?? []).filter((entry) => entryTitle(entry).toLowerCase().includes(wanted))
  return (
    <Screen
      title="Catalogue"
      state={data !== undefined && data.entries.length > 0 && plural(data.entries.length, 'event name')}
      actions={
        <>
          <div class="search-field">
            <Icon name="search" />
            <input
              type="search"
              name="search"
              aria-label="Search event names"
              placeholder="Search event names"
              value={filter.value}
              onInput={(event) => (filter.value = event.currentTarget.value)}
            />
          </div>
          <Menu label="Export">
            <a href="api/catalogue?format=schema" download="tracking-plan.json">
              As a tracking plan (JSON Schema)
            </a>
          </Menu>
        </>
      }
      tools={
        <>
          <QueryState query={query} />
          {data?.plan && <Plan plan={data.plan} entries={data.entries} />}
        </>
      }
      list={
        <div class="scroll is-table catalogue">
          {data !== undefined && data.entries.length === 0 && (
            <Nothing title="No events yet">
              <p>Each event name appears here with its first event.</p>
            </Nothing>
          )}
          {data !== undefined && data.entries.length > 0 && entries.length === 0 && (
            <Nothing title="No event name matches" />
          )}
          {entries.length > 0 && <EntryTable entries={entries} current={key} isStale={query.isStale} />}
        </div>
      }
      panel={key !== undefined && <EntryPanel entryKey={key} />}
    />
  )
}

function Sources({ sources }: Pick<CatalogueEntry, 'sources'>) {
  const names = sources.map(({ name }) => name || 'unknown')
  return (
    <span title={visibleText(names.join('\n'))}>
      <Text value={names.slice(0, 3).join(', ')} />
      {names.length > 3 && ` and ${names.length - 3} more`}
    </span>
  )
}

function Plan({
  plan,
  entries,
}: {
  plan: NonNullable<Catalogue['plan']>
  entries: readonly CatalogueEntry[]
}) {
  // Like `check`, which looks at accepted events only.
  const unplanned = entries.filter(
    ({ isPlanned, name, accepted }) => isPlanned === false && name && accepted > 0,
  ).length
  const violations = entries.reduce((sum, entry) => sum + (entry.violations ?? 0), 0)
  return (
    <p>
      Tracking plan <strong>{plan.title}</strong> with {plural(plan.events, 'event')}:{' '}
      <a href={href('events', { q: 'violation:*' })}>
        {plural(violations, 'event breaks', 'events break')} it
      </a>
      , {unplanned} not in the plan
      {plan.unseen.length > 0 && (
        <>
          , {plan.unseen.length} not seen yet (
          <Text
            value={plan.unseen
              .slice(0, 10)
              .map((key) => key.replace(/^track:/, ''))
              .join(', ')}
          />
          {plan.unseen.length > 10 && '…'})
        </>
      )}
      .
    </p>
  )
}

function oddities({ inconsistent, violations, isPlanned, name }: CatalogueEntry): Array<[Tone, string]> {
  const found: Array<[Tone, string]> = []
  if (inconsistent) found.push(['warn', `${inconsistent} inconsistent`])
  if (violations) found.push(['warn', `${plural(violations, 'breaks', 'break')} the plan`])
  if (isPlanned === false && name) found.push(['info', 'not planned'])
  return found
}

interface TableProps {
  entries: readonly CatalogueEntry[]
  current: string | undefined
  isStale: boolean
}

function EntryTable({ entries, current, isStale }: TableProps) {
  return (
    <table class={`entries${isStale ? ' stale' : ''}`}>
      <thead>
        <tr>
          <th scope="col">Event</th>
          <th scope="col" class="wide-only">
            Activity
          </th>
          <th scope="col" class="number">
            Count
          </th>
          <th scope="col" class="number">
            Lost
          </th>
          <th scope="col">Properties</th>
          <th scope="col" class="wide-only">
            Sources
          </th>
          <th scope="col" class="not-on-phone">
            Last seen
          </th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr
            key={entry.key}
            class={entry.key === current ? 'current' : ''}
            onClick={() => go(hrefWith({ key: entry.key }))}
          >
            <th scope="row">
              <a href={hrefWith({ key: entry.key })}>
                {entry.name && <span class="soft">{entry.type}</span>} <Name value={entryTitle(entry)} />
              </a>
            </th>
            <td class="wide-only">
              <Sparkline values={entry.sparkline} label={`${count(entry.count)} events over time`} />
            </td>
            <td class="number">{shortCount(entry.count)}</td>
            <td class="number bad-text">{entry.rejected > 0 && shortCount(entry.rejected)}</td>
            <td>
              {entry.properties ?? <span title="No event was accepted">–</span>}
              {oddities(entry).map(([tone, words]) => (
                <Fragment key={words}>
                  {' '}
                  <Pill tone={tone}>{words}</Pill>
                </Fragment>
              ))}
            </td>
            <td class="wide-only">
              <Sources sources={entry.sources} />
            </td>
            <td class="not-on-phone">
              <Ago at={entry.lastSeen} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
