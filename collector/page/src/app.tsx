import { useSignal, useSignalEffect } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { Brand, Icon, type IconName, Nothing, Notice, Problem, say } from './components/basics.tsx'
import { ConnectionState } from './components/connection-state.tsx'
import { Menu } from './components/menu.tsx'
import { isHelping, MoreMenu } from './components/more-menu.tsx'
import { about, loadBasics } from './lib/basics.ts'
import { plural, shortCount } from './lib/format.ts'
import { access, RequestError, sendJson } from './lib/http.ts'
import { latest, listen } from './lib/live.ts'
import { isNarrow } from './lib/media.ts'
import { problemCount, useProblemCount } from './lib/problems.ts'
import { href, route } from './lib/router.ts'
import { isPaused } from './lib/settings.ts'
import type { StreamMessage } from './lib/types.ts'
import { visibleText } from './lib/visible-text.ts'
import { CatalogueScreen } from './screens/catalogue.tsx'
import { DestinationsScreen } from './screens/destinations.tsx'
import { EventsScreen } from './screens/events.tsx'
import { FaultsScreen } from './screens/faults.tsx'
import { LoginScreen } from './screens/login.tsx'
import { NoStoreScreen } from './screens/no-store.tsx'
import { OverviewScreen } from './screens/overview.tsx'
import { ProblemsScreen } from './screens/problems.tsx'
import { RequestsScreen } from './screens/requests.tsx'
import { UsersScreen } from './screens/users.tsx'

interface Screen {
  name: string
  title: string
  icon: IconName
  component: FunctionComponent
  /** Shown in the menu beside the name. */
  countOf?(message: StreamMessage): number
  needsFaults?: boolean
}

/** The first screen is the list of events. */
const SCREENS: readonly Screen[] = [
  {
    name: 'events',
    title: 'Events',
    icon: 'events',
    component: EventsScreen,
    countOf: ({ stats }) => stats.accepted + stats.rejected,
  },
  {
    name: 'requests',
    title: 'Requests',
    icon: 'requests',
    component: RequestsScreen,
    countOf: ({ stats }) => stats.requests,
  },
  { name: 'users', title: 'Users', icon: 'users', component: UsersScreen },
  { name: 'catalogue', title: 'Catalogue', icon: 'catalogue', component: CatalogueScreen },
  { name: 'overview', title: 'Overview', icon: 'overview', component: OverviewScreen },
  {
    name: 'problems',
    title: 'Problems',
    icon: 'problems',
    component: ProblemsScreen,
    countOf: () => problemCount.value,
  },
  { name: 'destinations', title: 'Destinations', icon: 'destinations', component: DestinationsScreen },
  {
    name: 'faults',
    title: 'Faults',
    icon: 'faults',
    component: FaultsScreen,
    countOf: ({ faults }) => faults,
    needsFaults: true,
  },
]

/** Not in the menu. */
const UNKNOWN: Screen = { name: '?', title: 'No such screen', icon: 'menu', component: UnknownScreen }

function screenNow(): Screen {
  const { screen } = route.value
  const wanted = screen === '' ? 'events' : screen
  return SCREENS.find(({ name }) => name === wanted) ?? UNKNOWN
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
    const stopListening = listen()
    const load = () => {
      loadBasics().then(
        () => {
          error.value = undefined
          if (about.value?.message !== undefined) stopListening()
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
    // Handled in the capture phase, before the list handles its own shortcuts.
    document.addEventListener('keydown', onShortcut, { capture: true })
    return () => {
      unsubscribe()
      document.removeEventListener('keydown', onShortcut, { capture: true })
    }
  }, [error])
  useProblemCount()
  useSignalEffect(() => {
    const stats = latest.value?.stats
    const total = stats === undefined ? '' : `${plural(stats.accepted + stats.rejected, 'event')} · `
    document.title = `${total}${screenNow().title} · Trackpost collector`
  })
  if (access.value !== 'open') return <LoginScreen />
  if (about.value?.message !== undefined) return <NoStoreScreen message={about.value.message} />
  const screen = screenNow()
  const Content = screen.component
  return (
    <div class={`app ${isNarrow.value ? 'narrow' : 'wide'}`}>
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to the content
      </button>
      {isNarrow.value ? <TopBar screen={screen} /> : <SideBar screen={screen} />}
      <main
        id="content"
        tabIndex={-1}
        class={`screen screen-${screen === UNKNOWN ? 'unknown' : screen.name}`}
      >
        {error.value !== undefined && about.value === undefined && <Problem error={error.value} />}
        <FaultLine />
        <Content />
      </main>
      <Notice />
    </div>
  )
}

/** Whether the last key was `g`. Shortcuts: `?` shows the help, `/` searches, `g` and then a letter opens a screen, `p` pauses. */
let isGoing = false
const GO_KEYS: Readonly<Record<string, string>> = {
  o: 'overview',
  e: 'events',
  r: 'requests',
  u: 'users',
  c: 'catalogue',
  p: 'problems',
  d: 'destinations',
  f: 'faults',
}
function onShortcut(event: KeyboardEvent): void {
  const target = event.target as HTMLElement
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)
  const isElsewhere = document.querySelector('dialog.dialog[open]') !== null
  if (isTyping || isElsewhere || event.ctrlKey || event.metaKey || event.altKey) return
  const wasGoing = isGoing
  isGoing = event.key === 'g'
  const screen = wasGoing ? GO_KEYS[event.key] : undefined
  if (screen !== undefined) {
    event.stopPropagation()
    location.hash = href(screen)
  } else if (event.key === '/') {
    const input = document.querySelector<HTMLInputElement>('main input[name=search]')
    if (input === null) location.hash = href('events')
    input?.focus()
    event.preventDefault()
  } else if (event.key === '?') isHelping.value = true
  else if (event.key === 'p' && !wasGoing) isPaused.value = !isPaused.peek()
}

function visibleScreens(): readonly Screen[] {
  const canInject = about.value?.canInjectFaults !== false
  return SCREENS.filter(({ needsFaults }) => needsFaults !== true || canInject)
}

/** The screens of what happened, and the screens that judge it. */
const FIRST_OF_SECOND_GROUP = 'overview'

function Links({ screen }: { screen: Screen }) {
  const screens = visibleScreens()
  const split = screens.findIndex(({ name }) => name === FIRST_OF_SECOND_GROUP)
  return (
    <>
      {[screens.slice(0, split), screens.slice(split)].map((group) => (
        <div class="nav-group" key={group[0]?.name}>
          {group.map((one) => (
            <ScreenLink key={one.name} screen={one} isCurrent={one.name === screen.name} />
          ))}
        </div>
      ))}
    </>
  )
}

const COUNT_CLASSES: Readonly<Record<string, string>> = { problems: ' attention', faults: ' attention fault' }

function ScreenLink({ screen, isCurrent }: { screen: Screen; isCurrent: boolean }) {
  const { name, title, icon, countOf } = screen
  const message = latest.value
  const number = message === undefined || countOf === undefined ? 0 : countOf(message)
  return (
    <a href={href(name)} {...(isCurrent ? { 'aria-current': 'page' as const } : {})}>
      <Icon name={icon} />
      <span class="nav-title">{title}</span>
      {number > 0 && <span class={`nav-count${COUNT_CLASSES[name] ?? ''}`}>{shortCount(number)}</span>}
    </a>
  )
}

/** A fault on demand that somebody forgot looks like an outage, so every screen shows it. */
function FaultLine() {
  const faults = latest.value?.faults ?? 0
  if (faults === 0) return null
  const remove = async () => {
    try {
      await sendJson('DELETE', 'api/faults')
      say('All faults are removed')
    } catch (cause) {
      say(cause instanceof RequestError ? cause.message : String(cause))
    }
  }
  return (
    <p class="fault-line" role="status">
      <Icon name="faults" />
      <span>
        {plural(faults, 'fault')} {faults === 1 ? 'is' : 'are'} active: requests of clients fail on purpose.
      </span>
      <a href={href('faults')}>Show</a>
      {about.value?.canInjectFaults !== false && (
        <button type="button" class="quiet" onClick={remove}>
          Remove
        </button>
      )}
    </p>
  )
}

function PauseButton() {
  return (
    <button
      type="button"
      id="pause"
      class="pause"
      aria-pressed={isPaused.value}
      aria-label={isPaused.value ? 'Resume' : 'Pause'}
      title={isPaused.value ? 'Show new items again (p)' : 'Stop showing new items (p)'}
      onClick={() => (isPaused.value = !isPaused.peek())}
    >
      <Icon name={isPaused.value ? 'play' : 'pause'} />
      <span class="pause-word">{isPaused.value ? 'Resume' : 'Pause'}</span>
    </button>
  )
}

function SideBar({ screen }: { screen: Screen }) {
  return (
    <header class="side-bar">
      <Brand />
      <nav aria-label="Screens">
        <Links screen={screen} />
      </nav>
      <div class="side-bar-end">
        <ConnectionState />
        <PauseButton />
        <MoreMenu />
      </div>
    </header>
  )
}

function TopBar({ screen }: { screen: Screen }) {
  return (
    <header class="top-bar">
      <h1 class="brand">
        <img src="./icon.svg" alt="Trackpost collector" width="24" height="24" />
      </h1>
      <Menu
        class="screen-button"
        label={
          <>
            {screen.title} <Icon name="down" />
          </>
        }
      >
        <nav aria-label="Screens">
          <Links screen={screen} />
        </nav>
      </Menu>
      <ConnectionState />
      <PauseButton />
      <MoreMenu />
    </header>
  )
}
