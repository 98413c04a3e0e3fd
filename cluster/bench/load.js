import { Connection } from './connection.js'
import { eventMaker } from './events.js'

/**
 * Sends at a fixed rate, however long responses take, so that a stall shows as latency and not as a lower rate.
 *
 * @param load.rate Events a second. @param load.batch Events in a request; 1 = `/v1/track`.
 * @returns Latencies in milliseconds, each from the moment at which the request was due.
 */
export async function sendLoad(url, { rate, batch, connections, seconds }) {
  const make = eventMaker(url.host)
  const open = await Promise.all(
    Array.from({ length: connections }, () => Connection.open(url.port, url.hostname)),
  )
  // Connections are used in turn, so that each gets the same load.
  const free = [...open]
  const waiting = []
  const latencies = []
  let failed = 0
  const total = Math.floor((seconds * rate) / batch)
  const intervalMs = (1000 * batch) / rate
  const startMs = performance.now()
  await new Promise((finish) => {
    const send = async (connection, dueMs) => {
      const status = await connection.send(make(batch))
      latencies.push(performance.now() - dueMs)
      if (status !== 200) failed++
      if (waiting.length > 0) send(connection, waiting.shift())
      else free.push(connection)
      if (latencies.length === total) finish()
    }
    let due = 0
    const tick = () => {
      const until = Math.min(total, Math.floor((performance.now() - startMs) / intervalMs) + 1)
      for (; due < until; due++) {
        const dueMs = startMs + due * intervalMs
        const connection = free.shift()
        if (connection === undefined) waiting.push(dueMs)
        else send(connection, dueMs)
      }
      if (due < total) setTimeout(tick, 1)
    }
    tick()
  })
  const tookSeconds = (performance.now() - startMs) / 1000
  for (const one of open) one.close()
  latencies.sort((a, b) => a - b)
  return { latencies, failed: failed * batch, tookSeconds }
}

export function percentile(sorted, p) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN
}
