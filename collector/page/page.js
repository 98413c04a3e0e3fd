import { VirtualList } from './list.js'

const PAGE_SIZE = 200
/** Rows kept while the newest are watched; older ones are fetched again when they are scrolled to. */
const MAX_WATCHED = 5000

const element = (id) => document.getElementById(id)
const filters = element('filters')
const numbers = new Intl.NumberFormat()

let reasons = {}
let skips = {}
/** Newest record that the list takes into account. */
let lastSeq = 0
let epoch
let revision
let isPaused = false
let pausedAtSeq = 0
let newestSeq = 0
let older = null
let isFetching = false
let isFetchingOlder = false
/** Counts reloads, so that an answer that comes after one is known to be stale. */
let generation = 0
let total = 0

const list = new VirtualList(element('list'), { render: renderRow, onOpen: openEvent, onNearEnd: loadOlder })

async function getJson(url) {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  return response.json()
}

function query(more) {
  const given = [...new FormData(filters)].filter(([, value]) => value !== '')
  return new URLSearchParams([...given, ['view', 'summary'], ['order', 'newest'], ...Object.entries(more)])
}

function isFiltered() {
  return [...new FormData(filters)].some(([, value]) => value !== '')
}

/** Fetches the newest page anew. */
async function reload() {
  generation++
  const own = generation
  const { events, next } = await getJson(`/api/events?${query({ limit: PAGE_SIZE })}`)
  if (own !== generation) return
  older = next && { cursor: next }
  lastSeq = Math.max(newestSeq, events[0]?.seq ?? 0)
  list.replace(events)
  showEmptiness()
}

/** Fetches what has come since; when that is more than a page, the list starts again with it. */
async function loadNewer() {
  if (isFetching || isPaused || newestSeq <= lastSeq) return
  isFetching = true
  const own = generation
  const upTo = newestSeq
  try {
    const { events, next } = await getJson(`/api/events?${query({ limit: PAGE_SIZE, after: lastSeq })}`)
    if (own !== generation) return
    lastSeq = Math.max(upTo, events[0]?.seq ?? 0)
    if (next !== null && list.isAtTop) {
      older = next && { cursor: next }
      list.replace(events)
    } else if (next !== null) {
      // The reader is further down: the gap would be in sight, so new ones wait until they come back up.
      lastSeq = list.items[0]?.seq ?? 0
    } else if (events.length > 0) {
      const kept = list.items.length
      list.prepend(events, MAX_WATCHED)
      if (list.items.length < kept + events.length) older = { before: list.items.at(-1).seq }
    }
    showEmptiness()
  } finally {
    isFetching = false
  }
}

async function loadOlder() {
  if (older === null || isFetchingOlder) return
  isFetchingOlder = true
  const own = generation
  try {
    const { events, next } = await getJson(`/api/events?${query({ limit: PAGE_SIZE, ...older })}`)
    if (own !== generation) return
    older = next && { cursor: next }
    list.append(events)
  } finally {
    isFetchingOlder = false
  }
}

/** Fetches the rows in sight again, as destinations have reported. */
async function refreshVisible() {
  const visible = list.visible
  if (visible.length === 0) return
  const own = generation
  const range = { after: visible.at(-1).seq - 1, before: visible[0].seq + 1, limit: PAGE_SIZE }
  const { events } = await getJson(`/api/events?${query(range)}`)
  if (own === generation) list.update(events)
}

function showEmptiness() {
  const isEmpty = list.items.length === 0
  element('empty').hidden = !isEmpty || isFiltered()
  element('no-match').hidden = !isEmpty || !isFiltered()
  element('list').hidden = isEmpty
}

function span(className, text, title = text) {
  const node = document.createElement('span')
  node.className = className
  node.textContent = text
  if (title) node.title = title
  return node
}

function statusPill({ status, reason }) {
  return status === 'accepted'
    ? span('pill good', 'accepted')
    : span('pill bad', reason, `${reason}: ${reasons[reason] ?? ''}`)
}

const SIGNS = { delivered: '✓', pending: '…', failed: '✕', skipped: '–' }
const SHADES = { delivered: 'good', failed: 'bad' }

function destinationText({ state, reason, attempts }) {
  const why = reason === undefined ? '' : `: ${skips[reason] ?? reason}`
  const often = attempts > 1 ? ` (${attempts} attempts)` : ''
  return `${state}${why}${often}`
}

function destinationPill(outcome) {
  const { name, state } = outcome
  return span(
    `pill ${SHADES[state] ?? 'neutral'}`,
    `${SIGNS[state]} ${name}`,
    `${name}, ${destinationText(outcome)}`,
  )
}

function timeOf(iso) {
  const time = new Date(iso)
  const milliseconds = String(time.getMilliseconds()).padStart(3, '0')
  return `${time.toLocaleTimeString('en-GB')}.${milliseconds}`
}

function renderRow(row, event) {
  const status = span('status', '')
  status.append(statusPill(event))
  const destinations = span('destinations', '')
  destinations.append(...event.destinations.map(destinationPill))
  row.replaceChildren(
    span('time', timeOf(event.receivedAt), event.receivedAt),
    span('source', event.source),
    span('kind', event.type ?? '?'),
    span('name', event.name ?? (event.type === 'identify' ? event.userId : null) ?? '–'),
    span('user', event.userId ?? event.anonymousId ?? '–'),
    status,
    destinations,
  )
}

function fact(name, value) {
  if (value === null || value === undefined || value === '') return []
  const term = document.createElement('dt')
  term.textContent = name
  const description = document.createElement('dd')
  description.append(value)
  return [term, description]
}

function destinationList(destinations) {
  if (destinations.length === 0) return null
  const node = document.createElement('ul')
  for (const outcome of destinations) {
    const item = document.createElement('li')
    item.append(destinationPill(outcome), ` ${destinationText(outcome)}`)
    node.append(item)
  }
  return node
}

const JSON_TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** The JSON as coloured text; built of text nodes, so that no data is ever taken for markup. */
function highlighted(json) {
  const nodes = []
  let end = 0
  for (const match of json.matchAll(JSON_TOKEN)) {
    const [token, text, colon] = match
    nodes.push(json.slice(end, match.index))
    if (text === undefined) nodes.push(span('literal', token, ''))
    else nodes.push(span(colon === undefined ? 'string' : 'key', text, ''), colon ?? '')
    end = match.index + token.length
  }
  nodes.push(json.slice(end))
  return nodes
}

async function openEvent({ seq }) {
  const event = await getJson(`/api/events/${seq}`)
  const { source, reason, receivedAt, userId, anonymousId, messageId, destinations, message } = event
  const status = document.createElement('span')
  status.append(statusPill(event), reason === null ? '' : ` ${reasons[reason]}`)
  element('detail-title').textContent = [event.type ?? 'unknown kind', event.name].filter(Boolean).join(' · ')
  element('facts').replaceChildren(
    ...fact('Status', status),
    ...fact('Received', new Date(receivedAt).toLocaleString()),
    ...fact('Source', source),
    ...fact('userId', userId),
    ...fact('anonymousId', anonymousId),
    ...fact('messageId', messageId),
    ...fact('Destinations', destinationList(destinations)),
  )
  const json = message === null ? 'The request could not be read.' : JSON.stringify(message, null, 2)
  element('json').replaceChildren(...(message === null ? [json] : highlighted(json)))
  element('copy').hidden = message === null
  element('copy').onclick = async () => {
    await navigator.clipboard.writeText(json)
    element('copy').textContent = 'Copied'
    setTimeout(() => {
      element('copy').textContent = 'Copy JSON'
    }, 1500)
  }
  element('detail').hidden = false
  element('detail').scrollTop = 0
  element('close').focus()
}

function closeEvent() {
  if (element('detail').hidden) return
  element('detail').hidden = true
  element('list').focus()
}

const SVG = 'http://www.w3.org/2000/svg'

function drawChart(perSecond) {
  const chart = element('chart')
  if (chart.childElementCount === 0) {
    for (let i = 0; i < perSecond.length; i++) {
      for (const kind of ['accepted', 'rejected']) {
        const bar = document.createElementNS(SVG, 'rect')
        bar.setAttribute('class', kind)
        bar.setAttribute('x', i * 4)
        bar.setAttribute('width', 3)
        chart.append(bar)
      }
    }
  }
  const highest = Math.max(5, ...perSecond.map(({ accepted, rejected }) => accepted + rejected))
  for (const [i, { accepted, rejected }] of perSecond.entries()) {
    const low = (accepted / highest) * 36
    const high = (rejected / highest) * 36
    setBar(chart.children[2 * i], 36 - low, low)
    setBar(chart.children[2 * i + 1], 36 - low - high, high)
  }
}

function setBar(bar, y, height) {
  bar.setAttribute('y', y)
  bar.setAttribute('height', height)
}

function showStats({ accepted, rejected, perSecond, bySource }) {
  total = accepted + rejected
  element('total-accepted').textContent = numbers.format(accepted)
  element('total-rejected').textContent = numbers.format(rejected)
  element('total-rejected').classList.toggle('bad-text', rejected > 0)
  // The last second that is over; the one that is running would always look low.
  const { accepted: a, rejected: r } = perSecond.at(-2)
  element('rate').textContent = numbers.format(a + r)
  drawChart(perSecond)
  addOptions(
    filters.elements.source,
    Object.keys(bySource)
      .filter((name) => name !== '')
      .sort(),
  )
  if (isPaused) showPause()
}

function addOptions(select, names) {
  const known = new Set([...select.options].map(({ value }) => value))
  for (const name of names) {
    if (!known.has(name)) select.append(new Option(name, name))
  }
}

function showPause() {
  const waiting = newestSeq - pausedAtSeq
  element('pause').textContent = isPaused
    ? `Resume${waiting > 0 ? ` (${numbers.format(waiting)} new)` : ''}`
    : 'Pause'
  element('pause').setAttribute('aria-pressed', isPaused)
}

function showConnection(text, className) {
  element('connection').textContent = text
  element('connection').className = `connection ${className}`
}

let refreshTimer

function listen() {
  const stream = new EventSource('/api/stream')
  stream.onopen = () => showConnection('live', 'live')
  stream.onerror = () => {
    showConnection('no connection', 'lost')
    // The collector may come back with another past.
    epoch = undefined
  }
  stream.onmessage = ({ data }) => {
    const message = JSON.parse(data)
    newestSeq = message.lastSeq
    showStats(message.stats)
    if (message.epoch !== epoch) {
      epoch = message.epoch
      revision = message.revision
      if (!isPaused || total === 0) reload().catch(report)
      return
    }
    loadNewer().catch(report)
    if (message.revision !== revision && refreshTimer === undefined) {
      revision = message.revision
      refreshTimer = setTimeout(() => {
        refreshTimer = undefined
        if (!isPaused) refreshVisible().catch(report)
      }, 500)
    }
  }
}

function report() {
  showConnection('no connection', 'lost')
}

filters.addEventListener('submit', (event) => event.preventDefault())
let typing
filters.addEventListener('input', (event) => {
  element('reset-filters').hidden = !isFiltered()
  clearTimeout(typing)
  typing = setTimeout(() => reload().catch(report), event.target.name === 'text' ? 200 : 0)
})
filters.addEventListener('reset', () => {
  // The fields are empty after this event.
  setTimeout(() => {
    element('reset-filters').hidden = true
    reload().catch(report)
  })
})
element('reset-empty').addEventListener('click', () => filters.reset())
element('pause').addEventListener('click', () => {
  isPaused = !isPaused
  pausedAtSeq = newestSeq
  showPause()
  loadNewer().catch(report)
})
element('clear').addEventListener('click', async () => {
  if (!confirm('Forget all events?')) return
  await fetch('/api/events', { method: 'DELETE' })
  closeEvent()
})
element('close').addEventListener('click', closeEvent)
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') closeEvent()
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)
  if (event.key === '/' && !isTyping) {
    event.preventDefault()
    filters.elements.text.focus()
  }
})

element('curl').textContent =
  `curl -u my-key: -H 'Content-Type: application/json' \\\n  -d '{"userId":"user-1","event":"Hello"}' ${location.origin}/v1/track`
element('snippet').textContent =
  `import { Analytics } from 'trackpost'\n\nconst analytics = new Analytics({ writeKey: 'my-key', host: '${location.origin}' })\nanalytics.track({ userId: 'user-1', event: 'Hello' })\nawait analytics.closeAndFlush()`

const catalogue = await getJson('/api/reasons')
reasons = catalogue.reasons
skips = catalogue.skips
addOptions(filters.elements.type, catalogue.types)
listen()
