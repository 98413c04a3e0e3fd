import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

/** The sink is the server that receives the events. */
export async function startSink() {
  const child = fork(here('sink.mjs'))
  const [urls] = await once(child, 'message')
  const ask = async (path, method) => {
    const response = await fetch(urls.control + path, { method })
    return response.json()
  }
  return {
    ...urls,
    reset: () => ask('/reset', 'POST'),
    counts: () => ask('/counts', 'GET'),
    stop: () => child.disconnect(),
  }
}

/**
 * Makes one run in a new process, and compares its events with the counts of the sink. The result has the measurements of the
 * child, the counts of the sink (`sink`), and the numbers of events that were lost (`lost`) or arrived more than once
 * (`twice`). If the run fails, the result is `{ failed: reason }`.
 *
 * @param {object} run The argument of `child.mjs`, without URLs.
 * @param {{ execArgv?: string[], environment?: object, timeoutMs?: number, script?: string }} [options] `script` is run
 * instead of `child.mjs`.
 */
export async function runOnce(sink, run, options = {}) {
  await sink.reset()
  const argument = JSON.stringify({ ...run, url: sink.answering, holdingUrl: sink.holding })
  const result = await lastJsonLine(
    [...(options.execArgv ?? []), here(options.script ?? 'child.mjs'), argument],
    options,
  )
  if (result.failed) return result
  const counts = await sink.counts()
  // If there is no client (`none`), or no request gets a response (`waiting`), losses are not counted.
  const expected = run.adapter === 'none' || run.shape === 'waiting' ? counts.unique : result.events
  return { ...result, sink: counts, lost: expected - counts.unique, twice: counts.events - counts.unique }
}

/** Parses the last line of stdout. Returns `{ failed: reason }` if the process fails or the line is not JSON. */
async function lastJsonLine(args, { environment = {}, timeoutMs = 90_000 }) {
  const child = spawn(process.execPath, args, {
    cwd: here('.'),
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  const [code, signal] = await once(child, 'close')
  const line = out.trimEnd().split('\n').at(-1)
  if (code === 0 && line?.startsWith('{')) return JSON.parse(line)
  const reason = err.split('\n').find((text) => /Error|error/.test(text)) ?? err.split('\n')[0]
  return { failed: signal ? `stopped after ${timeoutMs / 1000} s` : reason || `exit code ${code}` }
}

/** Returns `undefined` for an empty list. */
export function median(values) {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b)
  if (sorted.length === 0) return undefined
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
