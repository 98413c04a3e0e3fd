import { useState } from 'preact/hooks'
import { stringifyExact } from '../../../src/json/exact-json.ts'
import { Ago, Icon, Nothing, QueryState, Text } from '../components/basics.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { dateAndTime, plural, shortCount } from '../lib/format.ts'
import { isNarrow } from '../lib/media.ts'
import { go, href, hrefWith, route } from '../lib/router.ts'
import type { UserDetails, UserSummary } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { EventRows } from './latest-events.tsx'

const PAGE_SIZE = 100
/** Maximum number of users in one response of the collector. */
const MAX_USERS = 500
const MAX_EVENTS = 1000

export function UsersScreen() {
  const { params } = route.value
  const id = params.get('id') ?? undefined
  const q = params.get('q') ?? ''
  const [limit, setLimit] = useState(PAGE_SIZE)
  const parameters = new URLSearchParams({ limit: String(limit), ...(q === '' ? {} : { q }) })
  const isListShown = !isNarrow.value || id === undefined
  const query = useQuery<{ users: UserSummary[]; next: string | null }>(
    isListShown ? `api/users?${parameters}` : undefined,
  )
  return (
    <div class="split users-split">
      {isListShown && (
        <section class="user-list" aria-label="Users">
          <div class="tools">
            <div class="search-field">
              <Icon name="search" />
              <input
                type="search"
                name="search"
                aria-label="Search users"
                placeholder="part of a userId or anonymousId"
                value={q}
                onInput={(event) => go(hrefWith({ q: event.currentTarget.value }), { replace: true })}
              />
            </div>
          </div>
          <QueryState query={query} />
          {query.data?.users.length === 0 && (
            <Nothing title={q === '' ? 'No users yet' : 'No user matches'}>
              {q === '' && <p>A user appears with the first event that has a userId or an anonymousId.</p>}
            </Nothing>
          )}
          <ul class={`user-rows${query.isStale ? ' stale' : ''}`}>
            {query.data?.users.map((user) => (
              <li key={user.id}>
                <a
                  href={hrefWith({ id: user.id })}
                  {...(user.id === id ? { 'aria-current': 'true' as const } : {})}
                >
                  <span class="title">
                    <Text value={user.id} />
                  </span>
                  <span class="soft user-count">{user.count === null ? '' : shortCount(user.count)}</span>
                  <span class="soft user-seen">
                    {user.userId === null && 'anonymous, '}
                    <Ago at={user.lastSeen} />
                  </span>
                </a>
              </li>
            ))}
          </ul>
          {query.data !== undefined && query.data.next !== null && limit < MAX_USERS && (
            <p class="more-row">
              <button type="button" onClick={() => setLimit(limit + PAGE_SIZE)}>
                Show more
              </button>
            </p>
          )}
        </section>
      )}
      {id === undefined ? (
        !isNarrow.value &&
        query.data !== undefined &&
        query.data.users.length > 0 && (
          <Nothing title="Choose a user">
            <p>The timeline includes the events from before the user signed in.</p>
          </Nothing>
        )
      ) : (
        <UserPanel id={id} />
      )}
    </div>
  )
}

function UserPanel({ id }: { id: string }) {
  const [limit, setLimit] = useState(PAGE_SIZE)
  const query = useQuery<UserDetails>(`api/users/${encodeURIComponent(id)}?limit=${limit}`)
  const user = query.data
  const isOther = user === undefined || query.isStale
  return (
    <section class="person scroll" aria-label="User">
      {isNarrow.value && (
        <p class="back">
          <a href={hrefWith({ id: undefined })}>All users</a>
        </p>
      )}
      <QueryState query={query} />
      {user !== undefined && (
        <div class={isOther ? 'stale' : ''}>
          <h2>
            <Text value={user.id} />
          </h2>
          <p class="soft">
            {plural(user.count, 'event')}
            {user.firstSeen !== null && (
              <>
                , first <Ago at={user.firstSeen} />
              </>
            )}
            {user.lastSeen !== null && (
              <>
                , last <Ago at={user.lastSeen} />
              </>
            )}
          </p>
          <Identities user={user} />
          <div class="user-columns">
            <Traits user={user} />
            <section class="block">
              <div class="block-head">
                <h3>Timeline</h3>
                {!user.isComplete && <p class="soft">There are more events than could be found in time.</p>}
              </div>
              <EventRows events={user.events} label="Timeline, newest first" />
              {user.next !== null && limit < MAX_EVENTS && (
                <p class="more-row">
                  <button type="button" onClick={() => setLimit(Math.min(MAX_EVENTS, limit * 2))}>
                    Show more
                  </button>
                </p>
              )}
            </section>
          </div>
        </div>
      )}
    </section>
  )
}

function Identities({ user }: { user: UserDetails }) {
  if (user.userIds.length + user.anonymousIds.length < 2) return null
  return (
    <dl class="facts">
      {user.userIds.length > 0 && (
        <>
          <dt>userId</dt>
          <dd>
            {user.userIds.map((one) => (
              <IdLink key={one} id={one} />
            ))}
          </dd>
        </>
      )}
      {user.anonymousIds.length > 0 && (
        <>
          <dt>anonymousId</dt>
          <dd>
            {user.anonymousIds.map((one) => (
              <IdLink key={one} id={one} />
            ))}
          </dd>
        </>
      )}
      {user.links.length > 0 && (
        <>
          <dt>Joined</dt>
          <dd>
            <ul class="plain-list">
              {user.links.slice(0, 20).map((link) => (
                <li key={link.eventId}>
                  <Text value={link.from} /> became <Text value={link.to} /> by{' '}
                  <a href={href('events', { open: link.eventId })}>{link.by}</a>, <Ago at={link.at} />
                </li>
              ))}
            </ul>
          </dd>
        </>
      )}
    </dl>
  )
}

function IdLink({ id }: { id: string }) {
  return (
    <span class="id-link">
      <a href={href('users', { id })}>
        <Text value={id} />
      </a>{' '}
    </span>
  )
}

function Traits({ user }: { user: UserDetails }) {
  const hasTraits = Object.keys(user.traits).length > 0
  return (
    <section class="block">
      <div class="block-head">
        <h3>Traits</h3>
      </div>
      {hasTraits ? <JsonTree value={user.traits} /> : <p class="soft">No identify call has set traits.</p>}
      <More count={user.more.traits} what="traits" />
      {user.groups.map((group) => (
        <details key={group.groupId}>
          <summary>
            Group <Text value={group.groupId} />, <Ago at={group.lastSeen} />
          </summary>
          <JsonTree value={group.traits} />
        </details>
      ))}
      <More count={user.more.groups} what="groups" />
      {user.traitHistory.length > 0 && (
        <>
          <h4>Changes of the traits</h4>
          <More count={user.more.changes} what="older changes" />
          <ol class="trait-history">
            {user.traitHistory.map(({ at, eventId, changes }) => (
              <li key={eventId}>
                <a href={href('events', { open: eventId })}>{dateAndTime(at)}</a>
                <ul class="plain-list">
                  {changes.map(({ path, from, to }) => (
                    <li key={path}>
                      <code>
                        <Text value={path} />
                      </code>{' '}
                      {from !== null && (
                        <del>
                          <Text value={short(from)} />
                        </del>
                      )}{' '}
                      <ins>
                        <Text value={short(to)} />
                      </ins>
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}

function More({ count, what }: { count: number; what: string }) {
  return count > 0 ? (
    <p class="soft">
      and {count.toLocaleString('en')} more {what}
    </p>
  ) : null
}

function short(value: unknown): string {
  const text = stringifyExact(value) ?? 'nothing'
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
