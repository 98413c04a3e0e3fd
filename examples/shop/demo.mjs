/**
 * Sends the visits in `visits.ndjson` to the shop, which is a separate process and sends its events to a collector. The collector
 * fails for a moment. Then the demo stops the shop, and compares the visits, the outcomes in the SDK and the records of the
 * collector. Exits with 0 only if they agree.
 *
 * With `--stay` the page of the collector stays open until Ctrl+C.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startCollector } from 'trackpost-collector'

const WRITE_KEY = 'demo-write-key'
/** The port of the page with `--stay`, unless it is in use. */
const PAGE_PORT = 8787
/** Longer than the time limit of `closeAndFlush` in the shop, 8 s. */
const STOP_TIMEOUT_MS = 10_000

/** The kind of the event of a visit, by the first part of its path. An import leads to one event for each order. */
const KINDS = {
  products: 'page',
  app: 'screen',
  cart: 'track',
  checkout: 'track',
  reviews: 'track',
  import: 'track',
  'sign-up': 'identify',
  login: 'alias',
  companies: 'group',
}

const { stay } = parseArgs({ options: { stay: { type: 'boolean', default: false } } }).values

const visits = readVisits()
const collector = await openCollector()
const shop = await startShop(collector.url)
for (const [index, visit] of visits.entries()) {
  // The collector fails: first with one error, then with a rate limit.
  if (index === Math.floor(visits.length * 0.6)) {
    collector.respondNext({ status: 503 })
    collector.respondNext({ status: 429, headers: { 'Retry-After': '1' } })
  }
  await visitShop(shop.url, visit)
}
const exit = await shop.stop()
const { requests } = await (await fetch(`${collector.url}/api/requests?order=oldest`)).json()

const expected = visits.flatMap(expectedEvents)
const problems = findProblems()
printReport()
process.exitCode = problems.length === 0 ? 0 : 1

if (stay) {
  const isAsked = Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)))
  console.log(`\nThe events are on the collector's page, ${collector.url}; Ctrl+C ends it.`)
  await isAsked
}
await collector.close()

/**
 * One visit per line. `fails` is the code with which the event of the visit must fail. `repeatText` tells how often `body.text`
 * is repeated: the long text would not fit into the file.
 */
function readVisits() {
  const lines = readFileSync(new URL('visits.ndjson', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => {
    const { repeatText = 1, ...visit } = JSON.parse(line)
    if (repeatText > 1) visit.body.text = visit.body.text.repeat(repeatText)
    return visit
  })
}

function expectedEvents({ id, path, body, fails }) {
  const kind = KINDS[path.split('/')[1]]
  if (path !== '/import/orders') return [{ id, kind, outcome: fails ?? 'delivered' }]
  return body.map((order) => ({ id: `import-${order.orderId}`, kind, outcome: order.fails ?? 'delivered' }))
}

/** Each event must have exactly one outcome, the expected one, and be in the collector exactly once if it was delivered. */
function findProblems() {
  const told = shop.log.filter(({ id }) => id !== undefined)
  const outcomes = told.map(({ message, id, kind, code }) => [id, kind, code ?? message].join(' '))
  const wanted = expected.map(({ id, kind, outcome }) => [id, kind, outcome].join(' '))
  const arrived = collector
    .events({ status: 'accepted' })
    .map(({ messageId, type }) => `${messageId} ${type}`)
  const sent = new Set(
    expected.filter(({ outcome }) => outcome === 'delivered').map(({ id, kind }) => `${id} ${kind}`),
  )
  const refused = collector.events({ status: 'rejected' }).filter(({ reason }) => reason !== 'duplicate')
  return [
    ...(exit.code === 0 ? [] : [`the shop ended with exit code ${exit.code}, signal ${exit.signal}`]),
    ...differences(wanted, outcomes, 'the outcome of the visit', 'the outcome in the SDK'),
    ...differences([...sent], arrived, 'delivered', 'in the collector'),
    ...refused.map(({ messageId, reason }) => `${messageId} was refused: ${reason}`),
  ]
}

/** What is in one list and not as often in the other. */
function differences(one, other, nameOfOne, nameOfOther) {
  const left = [...other]
  const missing = one.filter((text) => {
    const at = left.indexOf(text)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
  return [
    ...missing.map((text) => `only ${nameOfOne}: ${text}`),
    ...left.map((text) => `only ${nameOfOther}: ${text}`),
  ]
}

function printReport() {
  const told = (message) => shop.log.filter((entry) => entry.message === message)
  const duplicates = collector.events({ reason: 'duplicate' })
  const accepted = collector.events({ status: 'accepted' })
  console.log(`\nThe shop had ${visits.length} visits, which led to ${expected.length} events.\n`)
  printRow('', ['sent', 'delivered', 'failed', 'recorded', 'repeated*'])
  for (const name of [...new Set(Object.values(KINDS)), 'total']) {
    const count = (list) => list.filter(({ kind, type = kind }) => name === 'total' || type === name).length
    printRow(name, [expected, told('delivered'), told('not delivered'), accepted, duplicates].map(count))
  }
  console.log('  * the import of some orders was run twice; their ids are the same, so they count once')

  const bytes = requests.reduce((sum, { inflatedBytes }) => sum + inflatedBytes, 0)
  const statuses = requests.map(({ status }) => status).filter((status) => status !== 200)
  const { pending } = told('stopping')[0].stats
  console.log(
    `\n  ${requests.length} requests of ${Math.round(bytes / 1_000)} KB, of which these failed and were sent again: ${statuses.join(', ')}`,
  )
  console.log(`  the shop was told to stop while ${pending} events were waiting, and delivered them first`)
  console.log('\nWhat failed, and why')
  for (const { code, kind, id, reason } of told('not delivered'))
    console.log(`  ${code} ${kind} ${id}: ${reason}`)

  if (problems.length === 0) return console.log('\nOK  Every event is accounted for.')
  console.log('\nNOT OK  These values do not agree:')
  for (const problem of problems) console.log(`  ${problem}`)
}

function printRow(name, cells) {
  console.log(`  ${name.padEnd(10)}${cells.map((cell) => String(cell).padStart(11)).join('')}`)
}

async function openCollector() {
  const open = (port) => startCollector({ port, store: ':memory:' })
  if (!stay) return open(0)
  try {
    return await open(PAGE_PORT)
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error
    return open(0)
  }
}

async function visitShop(shopUrl, { id, visitor, user, locale, agent, referrer, method, path, body }) {
  const cookies = Object.entries({ visitor, user }).filter(([, value]) => value !== undefined)
  const headers = {
    'X-Request-Id': id,
    'Accept-Language': locale,
    'User-Agent': agent,
    Cookie: cookies.map(([name, value]) => `${name}=${value}`).join('; '),
    ...(referrer !== undefined && { Referer: referrer }),
  }
  const response = await fetch(shopUrl + path, { method, headers, body: body && JSON.stringify(body) })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`the shop responded with ${response.status} to ${id}`)
}

async function startShop(host) {
  const child = spawn(process.execPath, [fileURLToPath(new URL('shop.mjs', import.meta.url))], {
    env: { ...process.env, TRACKPOST_WRITE_KEY: WRITE_KEY, TRACKPOST_HOST: host, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // If this program throws, the shop must end as well.
  process.once('exit', () => child.kill('SIGKILL'))
  const log = []
  const closed = once(child, 'close')
  const url = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => reject(new Error(`the shop ended with exit code ${code}`)))
    createInterface(child.stdout).on('line', (line) => {
      const entry = JSON.parse(line)
      log.push(entry)
      if (entry.message === 'listening') resolve(entry.url)
    })
  })
  return {
    url,
    log,
    async stop() {
      child.kill('SIGTERM')
      const tooLate = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      const [code, signal] = await closed
      clearTimeout(tooLate)
      return { code, signal }
    },
  }
}
