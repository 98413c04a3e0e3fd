import { useSignal, useSignalEffect } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import {
  attempt,
  Brand,
  Button,
  Icon,
  type IconName,
  Nothing,
  Notice,
  Problem,
} from './components/basics.tsx'
import { ConnectionLine, ConnectionState } from './components/connection-state.tsx'
import { Menu } from './components/menu.tsx'
import { isHelping, MoreMenu } from './components/more-menu.tsx'
import { about, loadBasics } from './lib/basics.ts'
import { capitalised, plural, shortCount } from './lib/format.ts'
import { access, RequestError, sendJson } from './lib/http.ts'
import { isPaused, latest, listen, totalOf } from './lib/live.ts'
import { isNarrow } from './lib/media.ts'
import { problemCount, useProblemCount } from './lib/problems.ts'
import { href, route } from './lib/router.ts'
import type { StreamMessage } from './lib/types.ts'
import { visibleText } from './lib/visible-text.ts'
import { CatalogueScreen } from './screens/catalogue.tsx'
import { ChangesScreen } from './screens/changes.tsx'
import { DestinationsScreen } from './screens/destinations.tsx'
import { EventsScreen } from './screens/events.tsx'
import { FaultsScreen } from './screens/faults.tsx'
import { LoginScreen } from './screens/login.tsx'
import { OverviewScreen } from './screens/overview.tsx'
import { ProblemsScreen } from './screens/problems.tsx'
import { RequestsScreen } from './screens/requests.tsx'
import { UsersScreen } from './screens/users.tsx'

const SCREENS = {
  events: EventsScreen,
  requests: RequestsScreen,
  users: UsersScreen,
  catalogue: CatalogueScreen,
  overview: OverviewScreen,
  changes: ChangesScreen,
  problems: ProblemsScreen,
  destinations: DestinationsScreen,
  faults: FaultsScreen,
} satisfies Partial<Record<IconName, FunctionComponent>>
type ScreenName = keyof typeof SCREENS

/** The screens of what happened, and the screens that judge it. */
const GROUPS: readonly ScreenName[][] = [
  ['events', 'requests', 'users', 'catalogue'],
  ['overview', 'changes', 'problems', 'destinations', 'faults'],
]

/** Shown in the menu beside the name. */
const COUNTS: { readonly [name in ScreenName]?: (message: StreamMessage) => number } = {
  events: ({ stats }) => totalOf(stats),
  requests: ({ stats }) => stats.requests,
  problems: () => problemCount.value,
  faults: ({ faults }) => faults,
}

/** The first screen is the list of events. */
function screenNow(): ScreenName | undefined {
  const screen = route.value.screen || 'events'
  return Object.hasOwn(SCREENS, screen) ? (screen as ScreenName) : undefined
}

function titleOf(screen: ScreenName | undefined): string {
  return screen === undefined ? 'No such screen' : capitalised(screen)
}

function UnknownScreen() {
  return (
    <div class="scroll">
      <Nothing title="No such screen">
        <p>
          There is no screen <code>{visibleText(route.value.screen.slice(0, 100))}</code>.
        </p>
        <p>
          <a class="button" href={href('events')}>
            Events
          </a>
        </p>
      </Nothing>
    </div>
  )
}

export function App() {
  const error = useSignal<RequestError | undefined>(undefined)
  useEffect(() => {
    listen()
    const load = () => {
      loadBasics().then(
        () => {
          error.value = undefined
        },
        (cause) => {
          error.value = cause instanceof RequestError ? cause : new RequestError(String(cause), 0, '')
          setTimeout(load, 2000)
        },
      )
    }
    load()
    let known: string | undefined
    const unsubscribe = latest.subscribe((message) => {
      // After a restart, the collector may have another version, or other sources and destinations.
      if (known !== undefined && message !== undefined && message.process !== known) load()
      known = message?.process ?? known
    })
    document.addEventListener('keydown', onShortcut)
    return () => {
      unsubscribe()
      document.removeEventListener('keydown', onShortcut)
    }
  }, [error])
  useProblemCount()
  useSignalEffect(() => {
    const stats = latest.value?.stats
    const total = stats === undefined ? '' : `${plural(totalOf(stats), 'event')} · `
    document.title = `${total}${titleOf(screenNow())} · Trackpost collector`
  })
  const screen = screenNow()
  const before = useRef(screen)
  useEffect(() => {
    if (before.current === screen) return
    before.current = screen
    // What had the focus is gone with the screen before, or is the menu that led here: the keys belong to the new screen.
    const { activeElement: active, body } = document
    if (active === body || (isNarrow.value && active?.closest('.header')))
      document.getElementById('content')?.focus()
  }, [screen])
  if (access.value !== 'open') return <LoginScreen />
  const Content = screen === undefined ? UnknownScreen : SCREENS[screen]
  return (
    <div class="app">
      <Button class="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to the content
      </Button>
      <Header screen={screen} />
      <main id="content" tabIndex={-1}>
        {error.value !== undefined && about.value === undefined && <Problem error={error.value} />}
        <ConnectionLine />
        <FaultLine />
        <Content />
      </main>
      <Notice />
    </div>
  )
}

/** `?` shows the help, `/` searches, `p` pauses. */
function onShortcut(event: KeyboardEvent): void {
  const target = event.target as HTMLElement
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)
  const isElsewhere = document.querySelector('dialog.dialog[open]') !== null
  if (isTyping || isElsewhere || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === '/') {
    const input = document.querySelector<HTMLInputElement>('main input[name=search]')
    if (input === null) location.hash = href('events')
    input?.focus()
    event.preventDefault()
  } else if (event.key === '?') isHelping.value = true
  else if (event.key === 'p') isPaused.value = !isPaused.peek()
}

const COUNT_CLASSES: Readonly<Record<string, string>> = { problems: 'pill bad', faults: 'pill warn' }

function ScreenLink({ name, isCurrent }: { name: ScreenName; isCurrent: boolean }) {
  const message = latest.value
  const number = (message && COUNTS[name]?.(message)) ?? 0
  return (
    <a href={href(name)} {...(isCurrent ? { 'aria-current': 'page' as const } : {})}>
      <Icon name={name} />
      <span class="nav-title">{titleOf(name)}</span>
      {number > 0 && <span class={COUNT_CLASSES[name] ?? 'nav-count'}>{shortCount(number)}</span>}
    </a>
  )
}

/** A fault on demand that somebody forgot looks like an outage, so every screen shows it. */
function FaultLine() {
  const faults = latest.value?.faults ?? 0
  if (faults === 0) return null
  const remove = () =>
    attempt(async () => {
      await sendJson('DELETE', 'api/faults')
      return 'All faults are removed'
    })
  return (
    <p class="fault-line" role="status">
      <Icon name="faults" />
      <span>
        {plural(faults, 'fault')} {faults === 1 ? 'is' : 'are'} active: requests of clients fail on purpose.
      </span>
      <a href={href('faults')}>Show</a>
      <Button class="quiet" onClick={remove}>
        Remove
      </Button>
    </p>
  )
}

function PauseButton() {
  return (
    <Button
      id="pause"
      class="quiet"
      aria-pressed={isPaused.value}
      aria-label={isPaused.value ? 'Resume' : 'Pause'}
      title={isPaused.value ? 'Show new items again (p)' : 'Stop showing new items (p)'}
      onClick={() => (isPaused.value = !isPaused.peek())}
    >
      <Icon name={isPaused.value ? 'play' : 'pause'} />
    </Button>
  )
}

function Header({ screen }: { screen: ScreenName | undefined }) {
  const screens = (
    <nav aria-label="Screens">
      {GROUPS.map((group) => (
        <div class="nav-group" key={group[0]}>
          {group.map((name) => (
            <ScreenLink key={name} name={name} isCurrent={name === screen} />
          ))}
        </div>
      ))}
    </nav>
  )
  const label = (
    <>
      {titleOf(screen)} <Icon name="down" />
    </>
  )
  return (
    <header class="header">
      <Brand />
      {isNarrow.value ? (
        <Menu class="quiet screen-button" label={label}>
          {screens}
        </Menu>
      ) : (
        screens
      )}
      <div class="header-end">
        <ConnectionState />
        <PauseButton />
        <MoreMenu />
      </div>
    </header>
  )
}
