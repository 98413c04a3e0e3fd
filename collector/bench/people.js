/** The thread of the users during the load: see `company`. */
import { parentPort, workerData } from 'node:worker_threads'

const { url, pages = 0, search = false, stats = false } = workerData
const besides = new AbortController()
const { signal } = besides
const times = { searches: [], stats: [] }

async function readStream() {
  const response = await fetch(new URL('/api/stream', url), { signal })
  for await (const _ of response.body);
}

async function again(path, durations, restMs) {
  while (!signal.aborted) {
    const startedMs = performance.now()
    await (await fetch(new URL(path, url), { signal })).arrayBuffer()
    durations.push(performance.now() - startedMs)
    await new Promise((resolve) => setTimeout(resolve, restMs))
  }
}

const all = Array.from({ length: pages }, readStream)
if (search) all.push(again('/api/events?order=newest&view=summary&q=nowhere', times.searches, 0))
if (stats) all.push(again('/api/stats', times.stats, 100))

parentPort.on('message', async (message) => {
  if (message === 'start over') {
    for (const durations of Object.values(times)) durations.length = 0
    return
  }
  besides.abort()
  await Promise.allSettled(all)
  parentPort.postMessage(times)
  parentPort.close()
})
