import { useState } from 'preact/hooks'
import { Ago, Block, Button, Fact, Icon, Nothing, QueryState, Text } from '../components/basics.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { Screen } from '../components/screen.tsx'
import { Panel } from '../components/side-panel.tsx'
import { dateAndTime, plural, shortCount, shortJson } from '../lib/format.ts'
import { isNarrow } from '../lib/media.ts'
import { go, href, hrefWith, route } from '../lib/router.ts'
import { termFor } from '../lib/search-line.ts'
import type { UserDetails, UserSummary } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { visibleText } from '../lib/visible-text.ts'
import { EventRows } from './latest-events.tsx'

const PAGE_SIZE = 50
/** Maximum number of users in one response of the collector. */
const MAX_USERS = 500
const MAX_EVENTS = 1000

export function UsersScreen() {
  const { params } = route.value
  const chosen = params.get('id') ?? undefined
  const q = params.get('q') ?? ''
  const [limit, setLimit] = useState(PAGE_SIZE)
  const parameters = new URLSearchParams({ limit: String(limit), ...(q === '' ? {} : { q }) })
  const query = useQuery<{ users: UserSummary[]; next: string | null }>(`api/users?${parameters}`)
  const users = query.data?.users
  // Beside the list, there is room for one user at once.
  const id = chosen ?? (isNarrow.value ? undefined : users?.[0]?.id)
  const openFirst = (event: KeyboardEvent) => {
    const first = users?.[0]
    if (event.key === 'Enter' && first !== undefined && !query.isStale) go(hrefWith({ id: first.id }))
  }
  return (
    <Screen
      title="Users"
      class="users"
      state={
        users !== undefined &&
        users.length > 0 &&
        `${plural(users.length, 'user')}${query.data?.next === null ? '' : ' loaded'}`
      }
      tools={
        <div class="search">
          <div class="search-field">
            <Icon name="search" />
            <input
              type="search"
              name="search"
              aria-label="Search users"
              placeholder="Part of a name, an e-mail address or an id"
              value={q}
              onInput={(event) =>
                go(hrefWith({ q: event.currentTarget.value, id: undefined }), { replace: true })
              }
              onKeyDown={openFirst}
            />
          </div>
          <QueryState query={query} />
        </div>
      }
      list={
        <div class="scroll is-table">
          {users?.length === 0 && (
            <Nothing title={q === '' ? 'No users yet' : 'No user matches'}>
              {q === '' && <p>A user appears with the first event that has a userId or an anonymousId.</p>}
            </Nothing>
          )}
          {users !== undefined && users.length > 0 && (
            <table class={`entries user-rows${query.error === undefined ? '' : ' stale'}`}>
              <thead>
                <tr>
                  <th scope="col">User</th>
                  <th scope="col" class="number user-count">
                    Events
                  </th>
                  <th scope="col" class="user-seen">
                    Last seen
                  </th>
                </tr>
              </thead>
              <tbody>
                {users.map((user) => (
                  <UserRow key={user.id} user={user} isCurrent={user.id === id} />
                ))}
              </tbody>
            </table>
          )}
          {query.data !== undefined && query.data.next !== null && limit < MAX_USERS && (
            <p class="more-row">
              <Button onClick={() => setLimit(Math.min(MAX_USERS, limit * 2))}>Show more</Button>
            </p>
          )}
        </div>
      }
      panel={id !== undefined && <UserPanel id={id} canClose={chosen !== undefined} />}
    />
  )
}

function UserRow({ user, isCurrent }: { user: UserSummary; isCurrent: boolean }) {
  const { id, userId, name, email, count, lastSeen } = user
  const address = hrefWith({ id })
  const title = name ?? email ?? id
  const more = [...(title === name && email !== null ? [email] : []), ...(title === id ? [] : [id])]
  return (
    <tr class={isCurrent ? 'current' : ''} onClick={() => go(address)}>
      <th scope="row">
        <a
          class="one-line"
          href={address}
          {...(isCurrent ? { 'aria-current': 'true' as const } : {})}
          title={visibleText(title)}
        >
          <Text value={title} />
        </a>
        <span class="one-line soft">{userId === null ? 'anonymous' : <Text value={more.join(' · ')} />}</span>
      </th>
      <td class="number">{count === null ? '' : shortCount(count)}</td>
      <td class="soft">
        <Ago at={lastSeen} />
      </td>
    </tr>
  )
}

function UserPanel({ id, canClose }: { id: string; canClose: boolean }) {
  const [limit, setLimit] = useState(PAGE_SIZE)
  const query = useQuery<UserDetails>(`api/users/${encodeURIComponent(id)}?limit=${limit}&by=timestamp`)
  return (
    <Panel
      label="User"
      query={query}
      item={query.data?.id === id ? query.data : undefined}
      title={(user) => <Text value={nameOf(user.traits) ?? user.id} />}
      canClose={canClose}
      class={`person${query.error === undefined ? '' : ' stale'}`}
    >
      {(user) => (
        <>
          <div class="user-facts">
            <p class="soft">
              {nameOf(user.traits) !== undefined && (
                <>
                  <Text value={user.id} />,{' '}
                </>
              )}
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
          </div>
          <Traits user={user} />
          <Block
            title={
              <>
                Timeline <span class="soft">by the time of the events</span>
              </>
            }
            beside={<a href={href('events', { q: termFor('user', user.id) })}>Show in the list</a>}
          >
            <EventRows
              events={user.events}
              label="Timeline by the time of the events, newest first"
              timeOf={({ timestamp, receivedAt }) => timestamp ?? receivedAt}
            />
            {user.events.length < user.count && limit < MAX_EVENTS && (
              <p class="more-row">
                <Button onClick={() => setLimit(Math.min(MAX_EVENTS, limit * 2))}>Show more</Button>
              </p>
            )}
          </Block>
        </>
      )}
    </Panel>
  )
}

/** The name of a user for people, from the traits. */
function nameOf(traits: Readonly<Record<string, unknown>>): string | undefined {
  const text = (key: string) => {
    const value = traits[key]
    return typeof value === 'string' && value.trim() !== '' ? value : undefined
  }
  return text('name') ?? text('email')
}

function Identities({ user }: { user: UserDetails }) {
  if (user.userIds.length + user.anonymousIds.length < 2) return null
  return (
    <dl class="facts">
      <Ids name="userId" ids={user.userIds} />
      <Ids name="anonymousId" ids={user.anonymousIds} />
      {user.links.length > 0 && (
        <Fact name="Joined">
          <ul class="plain-list">
            {user.links.slice(0, 20).map((link) => (
              <li key={link.eventId}>
                <Text value={link.from} /> became <Text value={link.to} /> by{' '}
                <a href={href('events', { open: link.eventId })}>{link.by}</a>, <Ago at={link.at} />
              </li>
            ))}
          </ul>
        </Fact>
      )}
    </dl>
  )
}

function Ids({ name, ids }: { name: string; ids: readonly string[] }) {
  if (ids.length === 0) return null
  return (
    <Fact name={name}>
      {ids.map((id) => (
        <span class="id-link" key={id}>
          <a href={href('users', { id })}>
            <Text value={id} />
          </a>{' '}
        </span>
      ))}
    </Fact>
  )
}

function Traits({ user }: { user: UserDetails }) {
  const hasTraits = Object.keys(user.traits).length > 0
  return (
    <Block title="Traits">
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
                          <Text value={shortJson(from, 100)} />
                        </del>
                      )}{' '}
                      <ins>
                        <Text value={shortJson(to, 100)} />
                      </ins>
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ol>
        </>
      )}
    </Block>
  )
}

function More({ count, what }: { count: number; what: string }) {
  return count > 0 ? (
    <p class="soft">
      and {count.toLocaleString('en')} more {what}
    </p>
  ) : null
}
