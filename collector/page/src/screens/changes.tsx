import {
  attempt,
  Button,
  Choice,
  Graded,
  Nothing,
  Pill,
  QueryState,
  Text,
  type Tone,
} from '../components/basics.tsx'
import { Menu } from '../components/menu.tsx'
import { Screen } from '../components/screen.tsx'
import { collectorBase } from '../lib/as-code.ts'
import { capitalised, count, dateAndTime, plural } from '../lib/format.ts'
import { sendJson } from '../lib/http.ts'
import { go, href, hrefWith, route } from '../lib/router.ts'
import type { Change, ChangesReply, Comparison } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { visibleText } from '../lib/visible-text.ts'

const ASKED = ['since', 'before', 'after'] as const

/** Times to compare with, besides deploys. */
const AGES = [
  ['-5m', '5 minutes ago'],
  ['-1h', 'an hour ago'],
  ['-24h', 'a day ago'],
] as const

export function ChangesScreen() {
  const { params } = route.value
  const asked = ASKED.flatMap((name) => {
    const value = params.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  const query = useQuery<ChangesReply>(`api/changes?${new URLSearchParams(asked.map((one) => [...one]))}`)
  const { data } = query
  const comparison = data?.comparison
  return (
    <Screen
      title="Changes"
      state={
        comparison && (
          <p role="status">
            {plural(comparison.before.events, 'accepted event')} before, {count(comparison.after.events)}{' '}
            after
          </p>
        )
      }
      actions={<MarkDeploy onDone={query.reload} />}
      tools={data !== undefined && <Sides data={data} onDone={query.reload} />}
    >
      <QueryState query={query} />
      {data !== undefined && (
        <div class={query.isStale ? 'stale' : ''}>
          {comparison ? <Found comparison={comparison} /> : <NothingToCompare />}
        </div>
      )}
    </Screen>
  )
}

function MarkDeploy({ onDone }: { onDone(): void }) {
  const mark = (form: HTMLFormElement) =>
    attempt(async () => {
      await sendJson('POST', 'api/deploys', { name: String(new FormData(form).get('deploy-name')).trim() })
      form.reset()
      go(href('changes'))
      onDone()
      return 'The deploy is marked: what comes from now on is compared with what came before'
    })
  return (
    <Menu label="Mark a deploy">
      <form
        class="menu-form"
        onSubmit={(event) => {
          event.preventDefault()
          void mark(event.currentTarget)
        }}
      >
        <label>
          Name, if you like
          <input type="text" name="deploy-name" maxLength={200} placeholder="1.4.2" />
        </label>
        <Button type="submit" class="primary">
          Mark now
        </Button>
      </form>
    </Menu>
  )
}

/** The choice of what is compared: before and after a time, or two versions of an app. */
function Sides({ data: { deploys, versions, comparison }, onDone }: { data: ChangesReply; onDone(): void }) {
  const { params } = route.value
  const isOfVersions = comparison?.after.version != null
  const since = params.get('since') ?? (isOfVersions ? undefined : comparison?.after.from) ?? ''
  const deploy = deploys.find(({ at }) => at === since)
  const [newest, older] = versions
  const linkOf = (question: Record<string, string | undefined>) =>
    hrefWith({ since: undefined, before: undefined, after: undefined, ...question })
  const ask = (question: Record<string, string | undefined>) => go(linkOf(question))
  const remove = () =>
    attempt(async () => {
      await sendJson('DELETE', `api/deploys/${encodeURIComponent(deploy?.id ?? '')}`)
      ask({})
      onDone()
      return 'The mark is removed'
    })
  const select = (side: 'before' | 'after', value: string) => (
    <select
      aria-label={side === 'before' ? 'Version before' : 'Version after'}
      value={value}
      onChange={(event) =>
        ask({
          before: comparison?.before.version ?? '',
          after: comparison?.after.version ?? '',
          [side]: event.currentTarget.value,
        })
      }
    >
      {versions.map(({ version, events }) => (
        <option key={version} value={version}>
          {visibleText(version)} ({plural(events, 'event')})
        </option>
      ))}
    </select>
  )
  return (
    <div class="filters">
      {versions.length > 1 && (
        <Choice
          label="What to compare"
          options={[
            ['Before and after', linkOf({ since: deploys[0]?.at ?? AGES[1][0] }), !isOfVersions],
            ['Two versions', linkOf({ before: older?.version, after: newest?.version }), isOfVersions],
          ]}
        />
      )}
      {isOfVersions ? (
        <>
          {select('before', comparison.before.version ?? '')} <span class="soft">then</span>{' '}
          {select('after', comparison.after.version ?? '')}
        </>
      ) : (
        <select
          aria-label="Since"
          value={since}
          onChange={(event) => ask({ since: event.currentTarget.value })}
        >
          {since === '' && <option value="">Choose a time</option>}
          {deploys.map(({ id, at, name }) => (
            <option key={id} value={at}>
              deploy {visibleText(name)} {dateAndTime(at)}
            </option>
          ))}
          {deploy === undefined && since !== '' && !AGES.some(([age]) => age === since) && (
            <option value={since}>{dateAndTime(since)}</option>
          )}
          {AGES.map(([age, words]) => (
            <option key={age} value={age}>
              {words}
            </option>
          ))}
        </select>
      )}
      {deploy !== undefined && !isOfVersions && (
        <Button class="quiet" onClick={remove}>
          Remove this mark
        </Button>
      )}
    </div>
  )
}

function NothingToCompare() {
  const command = `curl -X POST -H 'Content-Type: application/json' -d '{"name":"1.4.2"}' \\\n  ${collectorBase()}/api/deploys`
  return (
    <Nothing title="What did your deploy change?">
      <p>
        Mark a deploy, here or from the script that deploys. From then on, this screen says in sentences which
        events and properties are new, gone or of another type, and which come more or less often than before.
      </p>
      <pre class="code">{command}</pre>
      <p>
        If your events have <code>context.app.version</code>, two versions can be compared without a mark.
      </p>
    </Nothing>
  )
}

const GRADES: ReadonlyArray<readonly [Change['grade'], string, string]> = [
  ['check', 'To check', 'this may be a mistake.'],
  ['new', 'New', 'there was none of it before.'],
  ['open', 'Not seen yet', 'too few events have come to tell whether they are gone.'],
]

function Found({ comparison }: { comparison: Comparison }) {
  const { before, after, changes, isComplete } = comparison
  if (after.events === 0 || before.events === 0) {
    return (
      <Nothing title={after.events === 0 ? 'Nothing has come since then' : 'Nothing had come before then'}>
        <p>Changes appear here as soon as there are events on both sides.</p>
      </Nothing>
    )
  }
  return (
    <>
      {!isComplete && (
        <p class="note">There is more than can be compared: some properties or changes are left out.</p>
      )}
      {changes.length === 0 && (
        <Nothing title="No changes">
          <p>The same events came with the same properties, about as often as before.</p>
        </Nothing>
      )}
      <Graded grades={GRADES} items={changes} gradeOf={({ grade }) => grade} noun="change">
        {(change) => (
          <Line
            key={`${change.what} ${change.type} ${change.name} ${change.path} ${change.sentence}`}
            change={change}
          />
        )}
      </Graded>
    </>
  )
}

const WORDS: Readonly<Record<Change['what'], readonly [Tone, string]>> = {
  event_renamed: ['warn', 'renamed'],
  event_gone: ['warn', 'event gone'],
  event_new: ['info', 'new event'],
  volume: ['warn', 'volume'],
  type_changed: ['warn', 'type'],
  property_gone: ['warn', 'property gone'],
  property_rarer: ['warn', 'rarer'],
  property_new: ['info', 'new property'],
}

function Line({ change }: { change: Change }) {
  const { what, grade, sentence, before, after } = change
  const [tone, word] = WORDS[what]
  const both = before.example !== null && after.example !== null
  return (
    <li>
      <Pill tone={grade === 'check' ? tone : 'info'}>{word}</Pill>
      <span class="change-sentence">
        <Text value={capitalised(sentence)} />
      </span>
      <span class="change-links">
        <Examples seen={before} when="before" />
        <Examples seen={after} when="after" />
        {both && (
          <a
            href={href('events', {
              q: after.q ?? undefined,
              open: after.example ?? '',
              with: before.example ?? '',
            })}
          >
            Compare
          </a>
        )}
      </span>
    </li>
  )
}

/** A link to the events of one side. Its number is the number of events that the list then has. */
function Examples({ seen, when }: { seen: Change['before']; when: string }) {
  const { q, from, to, example } = seen
  if (example === null) return null
  const range = { from: from ?? undefined, to: to ?? undefined, open: example }
  return q === null ? (
    <a href={href('events', range)}>example {when}</a>
  ) : (
    <a href={href('events', { ...range, q })}>
      {seen.count === 0 ? `${count(seen.of)} without it` : `${count(seen.count)} ${when}`}
    </a>
  )
}
