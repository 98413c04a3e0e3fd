// Measures how each client reacts to faults with its default settings, and its installed size. `node bench/compared.mjs` takes
// two minutes, and writes its two tables into docs/compared.md; with `installed`, only that of the sizes; with words from the names of
// scenarios, it only prints these. Afterwards, run `npm run tables`. It starts itself with `--client NAME SCENARIO URL` for each
// scenario and client.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUTAGE_MS = 30_000

/** Clients have their default settings. `trackBadly` tracks without a user. `told` lists the `error` events of the client. */
const CLIENTS = {
  trackpost: async (host) => segmentLike(await import('../dist/index.js'), host),
  '@segment/analytics-node': async (host) => segmentLike(await import('@segment/analytics-node'), host),
  'posthog-node': async (host) => {
    const { PostHog } = await import('posthog-node')
    const client = new PostHog('a-key', { host })
    const told = []
    client.on('error', () => told.push('error'))
    return {
      track: (event, properties) => client.capture({ distinctId: 'ada', event, properties }),
      trackBadly: () => client.capture({ event: 'Nobody' }),
      told,
      close: () => client.shutdown(30_000),
    }
  },
  '@rudderstack/rudder-sdk-node': async (host) => {
    const { default: Rudder } = await import('@rudderstack/rudder-sdk-node')
    return olderShape(new Rudder('a-key', { dataPlaneUrl: host }))
  },
  'analytics-node': async (host) => {
    const { default: Older } = await import('analytics-node')
    return olderShape(new Older('a-key', { host }))
  },
}

function segmentLike({ Analytics }, host) {
  const client = new Analytics({ writeKey: 'a-write-key', host })
  const told = []
  client.on('error', () => told.push('error'))
  return {
    track: (event, properties, callback) => client.track({ userId: 'ada', event, properties }, callback),
    trackBadly: () => client.track({ event: 'Nobody' }),
    told,
    close: () => client.closeAndFlush({ timeout: 30_000 }),
  }
}

function olderShape(client) {
  return {
    track: (event, properties, callback) => client.track({ userId: 'ada', event, properties }, callback),
    trackBadly: () => client.track({ event: 'Nobody' }),
    told: [],
    close: () => new Promise((resolve) => client.flush(resolve)),
  }
}

/**
 * Each key is the title of a row in the table. `run`: the actions of the child process. `answer`: the response of the server.
 * `cell`: the text of the cell, from the results.
 */
const SCENARIOS = {
  'good events that arrive, if the service refuses a batch of ten because of one bad event (400)': {
    run: async ({ track, close }) => {
      for (let number = 0; number < 10; number++) track(number === 4 ? 'Bad' : `Good ${number}`)
      await close()
    },
    answer: (events) => ({ status: events.includes('Bad') ? 400 : 200 }),
    cell: ({ arrived }) => `${[...arrived.keys()].filter((name) => name.startsWith('Good')).length} of 9`,
  },
  'ten events are refused (400)': {
    run: async ({ track, told, close }) => {
      const callbacks = []
      for (let number = 0; number < 10; number++)
        track(`Event ${number}`, {}, (error) => callbacks.push(error != null))
      await close()
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      return {
        failed: callbacks.filter(Boolean).length,
        passed: callbacks.filter((one) => !one).length,
        told,
      }
    },
    answer: () => ({ status: 400 }),
    cell: ({ report }) => {
      if (report === undefined) return 'the process ends'
      const { failed, passed, told } = report
      if (passed > 0) return `${passed} callbacks without an error`
      if (failed > 0) return `${failed} callbacks get an error`
      return told.length > 0 ? `${told.length} \`error\` event for the batch` : 'nothing'
    },
  },
  'a call without a user': {
    run: async ({ trackBadly, close }) => {
      let outcome = 'is taken'
      try {
        trackBadly()
      } catch {
        outcome = 'throws'
      }
      await close()
      return { outcome }
    },
    answer: () => ({ status: 200 }),
    cell: ({ report, arrived }) => {
      if (report.outcome === 'throws') return 'throws'
      return arrived.has('Nobody') ? 'is sent' : 'fails, and is not sent'
    },
  },
  'an object that your code changes after the call': {
    run: async ({ track, close }) => {
      const properties = { total: 'as passed' }
      track('Changed', properties)
      properties.total = 'as changed'
      await close()
    },
    answer: () => ({ status: 200 }),
    cell: ({ arrived }) => `is sent ${arrived.get('Changed')?.total}`,
  },
  'a redirect (307) to another host': {
    run: async ({ track, close }) => {
      track('Redirected')
      await close()
    },
    answer: (_, elsewhere) => ({ status: 307, headers: { Location: `${elsewhere}/v1/batch` } }),
    cell: ({ elsewhere }) => (elsewhere === 0 ? 'is not followed' : 'is followed'),
  },
  'a script ends without a flush': {
    run: ({ track }) => {
      track('Last')
    },
    endsBySelf: true,
    answer: () => ({ status: 200 }),
    cell: ({ arrived }) => (arrived.has('Last') ? 'delivers the event' : 'loses the event'),
  },
  'the service responds with 503, and no call has a callback': {
    run: async ({ track, close }) => {
      track('Refused')
      await new Promise((resolve) => setTimeout(resolve, 20_000))
      void close
    },
    answer: () => ({ status: 503 }),
    cell: ({ code }) => (code === 0 ? 'the process continues' : 'the process ends'),
  },
  'an outage of 30 s (503): events lost, and requests sent meanwhile': {
    run: async ({ track, close }) => {
      for (let number = 0; number < 200; number++) {
        track(`Event ${number}`)
        if (number % 20 === 19) await new Promise((resolve) => setTimeout(resolve, 100))
      }
      await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS + 45_000))
      await close()
    },
    answer: (_, __, sinceMs) => ({ status: sinceMs < OUTAGE_MS ? 503 : 200 }),
    cell: ({ code, arrived, requests }) => {
      const sent = requests.filter((ms) => ms < OUTAGE_MS).length
      return `${200 - arrived.size} of 200${code === 0 ? '' : ': the process ends'}; ${sent} requests`
    },
  },
}

/** The lines of the tables, by their names in docs/compared.md. */
const tables = {}
let lines

if (process.argv[2] === '--client') {
  const [, , , name, scenario, url] = process.argv
  const report = await SCENARIOS[scenario].run(await CLIENTS[name](url))
  process.stdout.write(`\n${JSON.stringify({ report: report ?? {} })}\n`)
  if (!SCENARIOS[scenario].endsBySelf) setTimeout(() => process.exit(), 100)
} else {
  const names = Object.keys(CLIENTS)
  const asked = process.argv.slice(2)
  const isSizes = asked.length === 0 || asked.includes('installed')
  if (isSizes) {
    const [sizes, bundles] = [names.map(closureOf), await Promise.all(names.map(bundleSizes))]
    head('installed')
    row('version', names, (name) => manifestOf(name).version)
    row('packages installed', sizes, ({ packages }) => packages)
    row('size on disk, KiB', sizes, ({ bytes }) => Math.round(bytes / 1024).toLocaleString('en-US'))
    row('size in a bundle, minified and gzipped, KB', bundles, ({ atOnce }) => atOnce)
    row('the same with code that is loaded later', bundles, ({ all }) => all)
    row('required Node.js, as stated by the package', names, (name) =>
      (manifestOf(name).engines?.node ?? '-').replaceAll('||', 'or'),
    )
  }
  if (!asked.includes('installed')) head('faults')
  for (const [scenario, { cell }] of Object.entries(SCENARIOS)) {
    if (asked.length > 0 && !asked.some((word) => scenario.includes(word))) continue
    row(scenario, await Promise.all(names.map(async (name) => cell(await measure(name, scenario)))))
  }
  if (isSizes) {
    const path = join(ROOT, 'docs/compared.md')
    const place = /(<!-- measured: (\w+) -->\n)[\s\S]*?(\n<!-- end of table -->)/g
    const written = (all, start, name, end) =>
      tables[name] === undefined ? all : `${start}\n${tables[name].join('\n')}\n${end}`
    writeFileSync(path, readFileSync(path, 'utf8').replace(place, written))
  }
}

function say(line) {
  lines.push(line)
  console.log(line)
}

function head(title) {
  const names = Object.keys(CLIENTS)
  lines = tables[title] = []
  say(`| | ${names.map((name) => `\`${name}\``).join(' | ')} |`)
  say(`|---|${'---|'.repeat(names.length)}`)
}

function row(title, values, cell = (value) => value) {
  say(`| ${title} | ${values.map(cell).join(' | ')} |`)
}

async function measure(name, scenario) {
  const { answer } = SCENARIOS[scenario]
  const arrived = new Map()
  const requests = []
  let elsewhere = 0
  const other = await listen(async (request, response) => {
    await bodyOf(request)
    elsewhere++
    response.writeHead(200).end('{}')
  })
  let startMs
  const server = await listen(async (request, response) => {
    const events = JSON.parse(await bodyOf(request)).batch ?? []
    startMs ??= performance.now()
    requests.push(performance.now() - startMs)
    const { status, headers } = answer(
      events.map(({ event }) => event),
      other.url,
      performance.now() - startMs,
    )
    if (status === 200) for (const { event, properties } of events) arrived.set(event, properties)
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end('{}')
  })
  const args = [fileURLToPath(import.meta.url), '--client', name, scenario, server.url]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', process.env.DEBUG ? 'inherit' : 'ignore'],
  })
  let output = ''
  child.stdout.on('data', (text) => {
    output += text
  })
  const [code] = await once(child, 'close')
  const line = output.split('\n').find((one) => one.startsWith('{"report"'))
  for (const { closing } of [server, other]) closing()
  return { arrived, requests, elsewhere, code, report: line && JSON.parse(line).report }
}

async function listen(handler) {
  const server = createServer((request, response) => {
    handler(request, response).catch((error) => response.writeHead(500).end(String(error)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const closing = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${server.address().port}`, closing }
}

async function bodyOf(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  return (body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body) : body).toString()
}

function folderOf(name, from = ROOT) {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = name === 'trackpost' ? ROOT : join(folder, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return realpathSync(found)
    if (dirname(folder) === folder) return undefined
  }
}

function manifestOf(name) {
  return JSON.parse(readFileSync(join(folderOf(name), 'package.json'), 'utf8'))
}

/** The number of packages that an install of `name` brings, without optional peers, and their size on disk in bytes. */
function closureOf(name) {
  const found = new Map()
  const visit = (one, from) => {
    const folder = folderOf(one, from)
    if (folder === undefined || found.has(folder)) return
    const { dependencies = {}, files } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const parts = folder === realpathSync(ROOT) ? [...files, 'package.json', 'README.md', 'LICENSE'] : ['.']
    found.set(
      folder,
      parts.map((part) => bytesOf(join(folder, part))).reduce((sum, bytes) => sum + bytes, 0),
    )
    for (const dependency of Object.keys(dependencies)) visit(dependency, folder)
  }
  visit(name, ROOT)
  return { packages: found.size, bytes: [...found.values()].reduce((sum, bytes) => sum + bytes, 0) }
}

function bytesOf(path) {
  if (!statSync(path).isDirectory()) return statSync(path).size
  return readdirSync(path)
    .filter((entry) => entry !== 'node_modules')
    .map((entry) => bytesOf(join(path, entry)))
    .reduce((sum, bytes) => sum + bytes, 0)
}

/** In KB: what is loaded with the import, and everything. */
async function bundleSizes(name) {
  const exported = {
    'posthog-node': 'PostHog',
    trackpost: 'Analytics',
    '@segment/analytics-node': 'Analytics',
  }
  const { outputFiles } = await build({
    stdin: {
      contents: `export { ${exported[name] ?? 'default'} as Client } from '${name}'`,
      resolveDir: ROOT,
    },
    bundle: true,
    minify: true,
    splitting: true,
    write: false,
    outdir: 'out',
    format: 'esm',
    platform: 'node',
    logLevel: 'silent',
  })
  // Code that is loaded later is in separate files.
  const first = outputFiles.find(({ path }) => path.endsWith('stdin.js'))
  const needed = new Set([first])
  for (const file of needed)
    for (const [, chunk] of file.text.matchAll(/(?:from|import)"\.\/([^"]+)"/g))
      needed.add(outputFiles.find(({ path }) => path.endsWith(chunk)))
  const size = (files) =>
    (gzipSync(Buffer.concat(files.map(({ contents }) => contents)), { level: 9 }).length / 1000).toFixed(1)
  return { atOnce: size([...needed]), all: size(outputFiles) }
}
