import { useEffect } from 'preact/hooks'
import { Ago, Graded, Nothing, QueryState, Text } from '../components/basics.tsx'
import { Screen } from '../components/screen.tsx'
import { chosenFrom, TimeRange } from '../components/time-range.tsx'
import { count, plural } from '../lib/format.ts'
import { countProblems, toldOnce } from '../lib/problems.ts'
import { href } from '../lib/router.ts'
import { termFor } from '../lib/search-line.ts'
import type { Problem, Problems, Severity } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { visibleText } from '../lib/visible-text.ts'

const WORDS: Readonly<Record<Problem['kind'], readonly [one: string, many?: string]>> = {
  event: ['event'],
  request: ['request'],
  delivery: ['delivery', 'deliveries'],
  plan: ['event'],
}

const GRADES: ReadonlyArray<readonly [Severity, string, string]> = [
  ['error', 'Lost', 'events that were not accepted or not delivered.'],
  ['warning', 'To check', 'no event is lost, but this is probably a mistake.'],
  ['info', 'Harmless', 'this is normal, and nothing has to be done.'],
]

export function ProblemsScreen() {
  const from = chosenFrom('all')
  const query = useQuery<Problems>(`api/problems?${new URLSearchParams(from === undefined ? {} : { from })}`)
  const { data } = query
  useEffect(() => {
    // Keeps the number in the menu as current as this screen.
    if (data !== undefined && from === undefined && !query.isStale) countProblems(data)
  }, [data, from, query.isStale])
  return (
    <Screen title="Problems" actions={<TimeRange otherwise="all" />}>
      <QueryState query={query} />
      {data !== undefined && (
        <div class={query.isStale ? 'stale' : ''}>
          {data.problems.length === 0 && (
            <Nothing title="No problems">
              <p>In this time, every event was accepted, and no delivery was given up.</p>
            </Nothing>
          )}
          <Graded
            grades={GRADES}
            items={toldOnce(data.problems)}
            gradeOf={({ severity }) => severity}
            noun="kind"
          >
            {(problem) => (
              <ProblemCard key={`${problem.kind} ${problem.reason}`} problem={problem} from={from} />
            )}
          </Graded>
        </div>
      )}
    </Screen>
  )
}

function ProblemCard({ problem, from }: { problem: Problem; from: string | undefined }) {
  const { kind, reason, meaning, remedy, sources, example, q, lastSeen, severity } = problem
  const screen = kind === 'request' ? 'requests' : 'events'
  return (
    <li class={`problem-card ${severity}`}>
      <div class="problem-main">
        <h4>
          <Text value={meaning} />
        </h4>
        <p>
          <Text value={remedy} />
        </p>
        <p class="soft">
          last <Ago at={lastSeen} />
          {sources.length > 0 && ' from '}
          {sources.slice(0, 5).map(({ name, count: n }, index) => (
            <span key={name}>
              {index > 0 && ', '}
              <a href={href(screen, { q: `${q} ${termFor('source', name)}`, from })}>
                <Text value={name === '' ? 'an unknown source' : name} />
              </a>{' '}
              ({count(n)})
            </span>
          ))}
          {sources.length > 5 && ` and ${sources.length - 5} more`}
          {(kind === 'event' || kind === 'request') && (
            <>
              , as <code>{visibleText(reason)}</code>
            </>
          )}
        </p>
      </div>
      <div class="problem-side">
        <a class={`problem-count${severity === 'error' ? ' bad-text' : ''}`} href={href(screen, { q, from })}>
          {plural(problem.count, ...WORDS[kind])}
        </a>
        {example !== null && <a href={href(screen, { q, from, open: example })}>An example</a>}
      </div>
    </li>
  )
}
