/**
 * The soak test: `npm run soak -- --minutes 60`. A client sends 1,000 events a second to a server that causes another
 * fault every 5 s. The client uses a spool and OAuth: a token lasts 40 s, and a token request fails every two minutes. The
 * script prints its progress and a summary. It fails when an event is lost, a repeat has other bytes, file descriptors
 * stay open, or memory grows by 1 MB an hour or more (checked in runs of at least 30 minutes).
 */
import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const EVENTS_PER_SECOND = 1_000
const FAULT_EVERY_MS = 5_000
const SAMPLE_EVERY_MS = 5_000
const TOKEN_SECONDS = 40
const KEY = 'canaryWriteKey7f3a9c51e2'

const root = resolve(import.meta.dirname, '../..')

if (process.argv[2] === '--host') await runSender(JSON.parse(process.argv[3]))
else await runSoak()

/** Runs in its own process: tracks events, and reports counts, memory and open files. */
async function runSender({ url, payload, dist, durationMs, rate, oauthSettings, spoolFolder }) {
  const { Analytics } = await import(pathToFileURL(join(dist, 'index.js')).href)
  const { FileSpool } = await import(pathToFileURL(join(dist, 'spool.js')).href)
  const { trackCall } = await import(pathToFileURL(payload).href)
  const warnings = []
  process.on('warning', ({ name, code, message }) => {
    // Outages are expected here.
    if (code !== 'TRACKPOST_OUTAGE') warnings.push(`${name}: ${message}`)
  })
  const spool = new FileSpool(spoolFolder)
  const client = new Analytics({ writeKey: KEY, host: url, maxRetries: 10, oauthSettings, spool })
  let errors = 0
  client.on('error', () => {
    errors++
  })
  const openFiles = () => readdirSync('/proc/self/fd').length
  const sample = () =>
    process.send({
      kind: 'sample',
      atMs: performance.now() - startMs,
      rss: process.memoryUsage.rss(),
      files: openFiles(),
      stats: client.stats,
      errors,
    })
  const filesBefore = openFiles()
  const startMs = performance.now()
  const sampler = setInterval(sample, SAMPLE_EVERY_MS)
  let n = 0
  let told = 0
  await new Promise((done) => {
    const ticker = setInterval(() => {
      const elapsedMs = performance.now() - startMs
      const due = Math.min(elapsedMs, durationMs) * (rate / 1_000)
      for (; n < due; n++) client.track(trackCall('soak', n), () => told++)
      if (elapsedMs < durationMs) return
      clearInterval(ticker)
      done()
    }, 10)
  })
  const closeStartMs = performance.now()
  const summary = await client.closeAndFlush()
  const closeMs = performance.now() - closeStartMs
  clearInterval(sampler)
  // Waits longer than `fetch` keeps idle connections open.
  await new Promise((done) => setTimeout(done, 6_000))
  process.send({
    kind: 'end',
    tracked: n,
    told,
    summary,
    stats: client.stats,
    closeMs,
    warnings,
    errors,
    filesBefore,
    filesAfter: openFiles(),
  })
  process.disconnect()
}

async function runSoak() {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '60' },
      rate: { type: 'string', default: String(EVENTS_PER_SECOND) },
    },
  })
  const minutes = Number(values.minutes)
  const rate = Number(values.rate)
  const durationMs = minutes * 60_000
  const { buildSync } = await import('esbuild')
  mkdirSync(join(root, '.cache'), { recursive: true })
  const scratch = mkdtempSync(join(root, '.cache', 'soak-'))
  buildSync({
    entryPoints: ['faults/harness/oracle', 'faults/harness/payload', 'support/token-server'].map((name) =>
      join(root, 'test', `${name}.ts`),
    ),
    entryNames: '[name]',
    outdir: scratch,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
  })
  const oracle = fork(join(scratch, 'oracle.mjs'))
  const calls = new Map()
  let lastCall = 0
  oracle.on('message', ({ call, value, error }) => {
    const { done, fail } = calls.get(call)
    calls.delete(call)
    if (error === undefined) done(value)
    else fail(new Error(error))
  })
  const ask = (command) =>
    new Promise((done, fail) => {
      calls.set(++lastCall, { done, fail })
      oracle.send({ call: lastCall, ...command })
    })
  const { id, port } = await ask({
    name: 'listen',
    options: { isLight: true, keepBytes: 0, script: String(script), onHead: String(onHead) },
  })
  const tell = (source) => ask({ name: 'run', server: id, source: String(source) })

  const tokens = await import(pathToFileURL(join(scratch, 'token-server.mjs')).href)
  const tokenServer = await tokens.TokenServer.start({ expiresIn: TOKEN_SECONDS })
  const failTokens = setInterval(
    () => tokenServer.replies.push((_request, response) => response.writeHead(503).end()),
    TOKEN_SECONDS * 3_000,
  )

  const sender = fork(
    import.meta.filename,
    [
      '--host',
      JSON.stringify({
        url: `http://127.0.0.1:${port}`,
        payload: join(scratch, 'payload.mjs'),
        dist: process.env.TRACKPOST_DIST ?? join(root, 'dist'),
        durationMs,
        rate,
        oauthSettings: {
          clientId: tokens.CLIENT_ID,
          clientKey: tokens.CLIENT_PEM,
          keyId: tokens.KEY_ID,
          authServer: tokenServer.url,
        },
        spoolFolder: join(scratch, 'spool'),
      }),
    ],
    { execArgv: ['--unhandled-rejections=strict'] },
  )
  const stop = () => {
    clearInterval(failTokens)
    sender.kill('SIGKILL')
    oracle.kill('SIGKILL')
    rmSync(scratch, { recursive: true, force: true })
  }
  process.once('SIGINT', () => {
    stop()
    process.exit(130)
  })

  const faults = {}
  const names = [
    '503',
    '500',
    '429',
    'cut',
    'reset',
    'silence',
    'slow',
    'endless',
    'malformed',
    '401',
    'drop-all',
    'pause',
  ]
  let index = 0
  const faulty = setInterval(async () => {
    // All faults occur equally often, in a mixed order.
    const name = names[(index * 7 + Math.floor(index / names.length)) % names.length]
    index++
    faults[name] = (faults[name] ?? 0) + 1
    if (name === 'pause') {
      oracle.kill('SIGSTOP')
      setTimeout(() => oracle.kill('SIGCONT'), 2_000)
    } else if (name === 'drop-all') {
      await tell((server) => {
        for (const socket of server.sockets) socket.resetAndDestroy()
      })
    } else {
      await tell(`(server) => { server.state.fault = '${name}' }`)
      setTimeout(
        () =>
          void tell((server) => {
            server.state.fault = ''
          }),
        2_500,
      )
    }
  }, FAULT_EVERY_MS)

  const samples = []
  let end
  console.log(`soak: ${rate} events/s for ${minutes} minutes, a fault every ${FAULT_EVERY_MS / 1_000} s`)
  sender.on('message', (message) => {
    if (message.kind === 'end') {
      end = message
      return
    }
    samples.push(message)
    if (samples.length % 12 !== 0) return
    const { atMs, stats, rss, files, errors } = message
    console.log(
      `${(atMs / 60_000).toFixed(0).padStart(4)} min  accepted ${stats.accepted}  delivered ${stats.delivered}  ` +
        `pending ${stats.pending}  failed ${stats.failed}  RSS ${(rss / 1_048_576).toFixed(1)} MB  fds ${files}  ` +
        `faults ${index}  errors ${errors}`,
    )
  })
  const stopFaultsMs = durationMs - 1_000
  setTimeout(() => clearInterval(faulty), stopFaultsMs)
  const code = await new Promise((done) => sender.on('exit', (exitCode, signal) => done(exitCode ?? signal)))
  clearInterval(faulty)
  oracle.kill('SIGCONT')
  const ledger = await ask({ name: 'report', server: id })
  stop()
  const issued = tokenServer.requests.length
  const isGood = summarise({ code, end, ledger, samples, faults, issued, durationMs })
  process.exit(isGood ? 0 : 1)
}

function summarise({ code, end, ledger, samples, faults, issued, durationMs }) {
  const checks = []
  const check = (name, isGood, figure) => checks.push({ name, isGood, figure })
  check('exit code of the sender is 0', code === 0, String(code))
  if (end === undefined) {
    console.log('the sender ended without a report')
    return false
  }
  const bytes = Buffer.from(ledger.ledger, 'base64')
  let lost = 0
  for (let n = 0; n < end.tracked; n++) if (((bytes[n] ?? 0) & 1) === 0) lost++
  check('0 lost', lost === 0, `${lost} of ${end.tracked}`)
  check('every outcome reported once', end.told === end.tracked, String(end.told))
  check('0 failed', end.stats.failed === 0, JSON.stringify(end.stats.failures))
  check(
    'counts consistent',
    end.stats.accepted === end.stats.delivered + end.stats.failed && end.stats.pending === 0,
    `${end.stats.accepted} accepted`,
  )
  check(
    'repeats byte-equal, nothing corrupted',
    ledger.violations.length === 0,
    `${ledger.duplicates} repeats ${ledger.violations.slice(0, 3).join('; ')}`,
  )
  check('0 warnings except for outages', end.warnings.length === 0, end.warnings.join('; '))
  check('tokens were renewed', issued >= durationMs / 1_000 / TOKEN_SECONDS, `${issued} token requests`)
  const injected = Object.values(faults).reduce((sum, one) => sum + one, 0)
  check('faults were injected', injected >= durationMs / FAULT_EVERY_MS - 5, JSON.stringify(faults))
  // Leaves out the warm-up of the engine: the first ten minutes, or the first half of a short run.
  const warmMs = Math.min(600_000, durationMs / 2)
  const warm = samples.filter(({ atMs }) => atMs >= warmMs && atMs <= durationMs)
  const slope = slopePerHour(warm.map(({ atMs, rss }) => [atMs, rss / 1_048_576]))
  const isLong = durationMs >= 1_800_000
  check(
    isLong ? 'RSS slope under 1 MB an hour' : 'RSS slope (too short a run to judge)',
    !isLong || slope < 1,
    `${slope.toFixed(2)} MB/h over ${((durationMs - warmMs) / 60_000).toFixed(0)} min`,
  )
  const rss = warm.map((one) => one.rss / 1_048_576)
  console.log(`RSS ${Math.min(...rss).toFixed(1)} to ${Math.max(...rss).toFixed(1)} MB after the warm-up`)
  const files = warm.map((one) => one.files)
  check(
    'file descriptors flat',
    Math.max(...files) - Math.min(...files) <= 12,
    `${Math.min(...files)} to ${Math.max(...files)}`,
  )
  check(
    'file descriptors back at the end',
    end.filesAfter <= end.filesBefore + 1,
    `${end.filesBefore} before, ${end.filesAfter} after`,
  )
  console.log(`closed in ${end.closeMs.toFixed(0)} ms, ${end.errors} error events`)
  for (const { name, isGood, figure } of checks) console.log(`${isGood ? 'ok  ' : 'FAIL'} ${name}: ${figure}`)
  return checks.every(({ isGood }) => isGood)
}

/** The slope per hour of the line through `points` ([ms, value]), by the method of least squares. */
function slopePerHour(points) {
  const count = points.length
  if (count < 3) return 0
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return (above / below) * 3_600_000
}

/** `onHead` and `script` run inside the oracle, the process of the test server. */
function onHead(_request, io) {
  if (io.state.fault !== 'reset') return true
  io.reset()
  return false
}

async function script(_request, io) {
  switch (io.state.fault) {
    case '503':
      return io.reply(503)
    case '500':
      return io.reply(500)
    case '401':
      return io.reply(401)
    case '429':
      return io.reply(429, { 'retry-after': '1' })
    case 'cut':
      return io.random() < 0.5 ? io.reset() : io.reply(200)
    case 'silence':
      return undefined
    case 'slow':
      await io.sleep(io.random() * 3_000)
      return io.reply(200)
    case 'endless':
      io.acknowledge()
      return io.raw('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{')
    case 'malformed':
      io.raw('HTTP/9.9 what\r\n\r\n')
      return io.close()
    default:
      return io.reply(200)
  }
}
