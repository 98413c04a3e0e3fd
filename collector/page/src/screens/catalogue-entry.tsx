import { Fragment } from 'preact'
import { Ago, Block, Button, Fact, Name, Pill, Text } from '../components/basics.tsx'
import { copy } from '../components/copy.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { Panel } from '../components/side-panel.tsx'
import { count, plural, share, shortJson } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import { termFor } from '../lib/search-line.ts'
import type { CatalogueDetails, CatalogueEntry, FieldType } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'

/** Events of some kinds have no names. */
export function entryTitle({ type, name }: Pick<CatalogueEntry, 'type' | 'name'>): string {
  return name || type
}

export function EntryPanel({ entryKey }: { entryKey: string }) {
  const query = useQuery<CatalogueDetails>(`api/catalogue/${encodeURIComponent(entryKey)}`)
  return (
    <Panel
      label="Event name"
      query={query}
      item={query.data?.key === entryKey ? query.data : undefined}
      title={(entry) => (
        <>
          {entry.name && <span class="soft">{entry.type}</span>} <Name value={entryTitle(entry)} />
        </>
      )}
    >
      {(entry) => (
        <>
          <p class="actions">
            <a class="button" href={href('events', { q: entry.q })}>
              Show {plural(entry.count, 'event')}
            </a>
            <Button onClick={() => copy(JSON.stringify(entry.schema, null, 2), 'JSON Schema')}>
              Copy JSON Schema
            </Button>
          </p>
          <Facts entry={entry} />
          <Block title="Properties">
            <p class="soft">Of {plural(entry.accepted, 'accepted event')}; values of the newest.</p>
            {entry.fields.length === 0 ? <p>No properties.</p> : <Fields entry={entry} />}
          </Block>
          {entry.example?.message && (
            <Block
              title="Example"
              beside={<a href={href('events', { q: entry.q, open: entry.example.id })}>Open the event</a>}
            >
              <JsonTree value={entry.example.message} />
            </Block>
          )}
        </>
      )}
    </Panel>
  )
}

function Facts({ entry }: { entry: CatalogueDetails }) {
  return (
    <dl class="facts">
      <Fact name="Seen">
        first <Ago at={entry.firstSeen} />, last <Ago at={entry.lastSeen} />
      </Fact>
      <Fact name="Sources">
        {entry.sources.map(({ name, count: n }, index) => (
          <span key={name}>
            {index > 0 && ', '}
            <a href={href('events', { q: `${entry.q} ${termFor('source', name)}` })}>
              <Text value={name || 'unknown'} />
            </a>{' '}
            ({count(n)})
          </span>
        ))}
      </Fact>
      {entry.rejected > 0 && (
        <Fact name="Not accepted">
          <a class="bad-text" href={href('events', { q: `${entry.q} status:rejected` })}>
            {count(entry.rejected)}
          </a>
        </Fact>
      )}
      {entry.violations !== null && entry.violations > 0 && (
        <Fact name="Plan">
          <a href={href('events', { q: `${entry.q} violation:*` })}>
            {plural(entry.violations, 'event breaks', 'events break')} it
          </a>
        </Fact>
      )}
    </dl>
  )
}

function Fields({ entry: { q, fields } }: { entry: CatalogueDetails }) {
  return (
    <table class="fields">
      <thead>
        <tr>
          <th scope="col">Property</th>
          <th scope="col">Type</th>
          <th scope="col" class="number">
            Present
          </th>
          <th scope="col">Values</th>
        </tr>
      </thead>
      <tbody>
        {fields.map((field) => (
          <tr key={field.path} class={field.isInconsistent ? 'inconsistent' : ''}>
            <th scope="row">
              <code>
                {partsOf(field.path).map((part, index) => (
                  <Fragment key={index}>
                    <Text value={part} />
                    <wbr />
                  </Fragment>
                ))}
              </code>
            </th>
            <td>
              {field.types.map((type, index) => (
                <Fragment key={type.type}>
                  <span class="field-type">
                    <TypeLink type={type} q={q} isOnly={field.types.length === 1} />
                    {index < field.types.length - 1 && ','}
                  </span>{' '}
                </Fragment>
              ))}
              {field.isInconsistent && <Pill tone="warn">inconsistent</Pill>}
            </td>
            <td class="number">{share(field.presence, 1)}</td>
            <td class="values soft">
              <Text value={field.values.map((value) => shortJson(value, 40)).join(', ')} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** A long path is broken at its dots. */
function partsOf(path: string): string[] {
  return path.replace(/^(?:properties|traits)\./, '').split(/(?<=\.)/)
}

function TypeLink({ type, q, isOnly }: { type: FieldType; q: string; isOnly: boolean }) {
  const name = type.format === undefined ? type.type : `${type.type} (${type.format})`
  const title = `${plural(type.count, 'event')}, for example ${shortJson(type.example, 40)}`
  return (
    <a href={href('events', { q, open: type.exampleId })} title={title}>
      {name}
      {!isOnly && ` ${share(type.share, 1)}`}
    </a>
  )
}
