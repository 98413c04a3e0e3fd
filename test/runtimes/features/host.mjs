// Runs the features of features.mjs on Node.js, Bun and Deno. The variable FEATURES has the settings as JSON, with
// the mode. In most modes, the program prints one line, and runs until a signal ends it.
import cluster from 'node:cluster'
import { writeSync } from 'node:fs'
import process from 'node:process'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import * as trackpost from 'trackpost'
import { FEATURES, runFeature, runFeatures } from './features.mjs'

const settings = JSON.parse(process.env.FEATURES)
const { mode } = settings
const print = (value) => writeSync(1, `${JSON.stringify(value)}\n`)
const stay = () => setInterval(() => {}, 1_000)

const host = {
  ...settings,
  trackpost,
  load: (name) => import(name),
  warnings: [],
}
process.on('warning', ({ message }) => host.warnings.push(message))
const runAll = async () => ({ results: await runFeatures(host), pid: process.pid })

if (mode === 'thread' && isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  worker.on('message', (results) => {
    print({ results, pid: process.pid })
    stay()
  })
} else if (mode === 'thread') {
  parentPort.postMessage(await runFeatures(host))
} else if (mode === 'cluster' && cluster.isPrimary) {
  const worker = cluster.fork()
  worker.on('message', print)
  worker.on('exit', (_code, signal) => process.kill(process.pid, signal ?? 'SIGKILL'))
} else if (mode === 'cluster') {
  process.send(await runAll())
  stay()
} else if (mode === 'beforeExit') {
  process.once('beforeExit', async () => {
    print(await runAll())
    stay()
  })
} else if (mode === 'exit') {
  process.on('exit', () => {
    const results = {}
    for (const name of Object.keys(FEATURES)) {
      results[name] = { absent: 'exit' }
      runFeature(name, host).then((result) => {
        results[name] = result
      })
    }
    print({ results, pid: process.pid })
  })
} else if (mode === 'adopt') {
  const { FileSpool } = await import('trackpost/spool')
  const { apiUrl, writeKey, directory } = settings
  const analytics = new trackpost.Analytics({
    writeKey,
    host: `${apiUrl}/spool`,
    spool: new FileSpool(directory),
  })
  const held = stay()
  await new Promise((resolve) => analytics.once('track', resolve))
  await analytics.closeAndFlush()
  clearInterval(held)
} else if (mode === 'lambda') {
  await serveLambda()
} else {
  print(await runAll())
  stay()
}

/** A custom runtime of AWS Lambda: asks for an invocation, runs the feature that it names, and posts the result. */
async function serveLambda() {
  const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`
  for (;;) {
    const next = await fetch(`${api}/next`)
    const id = next.headers.get('Lambda-Runtime-Aws-Request-Id')
    const { feature } = await next.json()
    const result = await runFeature(feature, host)
    await fetch(`${api}/${id}/response`, { method: 'POST', body: JSON.stringify(result) })
  }
}
