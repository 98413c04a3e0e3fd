import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import { listen } from '../../test/support/loopback.ts'
import { type Collector, type CollectorOptions, startCollector } from '../src/index.ts'

/** Starts a collector, with a store in memory by default, and closes it when the test ends. */
export async function openCollector(options: CollectorOptions = {}): Promise<Collector> {
  const collector = await startCollector({ port: 0, ...options })
  onTestFinished(() => collector.close())
  return collector
}

/** Starts a server that is closed when the test ends. Returns its address, without a slash at the end. */
export async function serve(handler: RequestListener): Promise<string> {
  const { url, close } = await listen(handler)
  onTestFinished(close)
  return url
}

/** A valid track event with a new messageId. */
export function track(fields: Record<string, unknown> = {}): Record<string, unknown> {
  nextId++
  return {
    type: 'track',
    userId: 'zoë-12',
    event: 'Bestellung "Größe L" aufgegeben',
    messageId: `message-${nextId}`,
    properties: { total: 19.9, currency: 'EUR' },
    ...fields,
  }
}
let nextId = 0

/** Posts JSON (or the given text or bytes) as the source `shop`. */
export function post(
  collector: Pick<Collector, 'url'>,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const raw = typeof body === 'string' || body instanceof Uint8Array
  return fetch(`${collector.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: basic('shop'), ...headers },
    body: raw ? (body as string) : JSON.stringify(body),
  })
}

/** Posts JSON without the default `Authorization`. */
export function postPlain(
  collector: Pick<Collector, 'url'>,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${collector.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

export function basic(writeKey: string): string {
  return `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`
}

/** Sends bytes unchanged, and resolves with all bytes that arrive until the connection ends. */
export function exchange(port: number, ...parts: Array<string | Buffer>): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => {
      for (const part of parts) socket.write(part)
    })
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

/** A clock that stands still until the test advances it. */
export function fakeClock(startMs = Date.UTC(2026, 4, 17, 9, 30)) {
  let elapsedMs = 0
  let offsetMs = startMs
  let timers: Array<{ atMs: number; run(): void }> = []
  return {
    now: () => offsetMs + elapsedMs,
    monotonic: () => elapsedMs,
    random: () => 0.5,
    setTimer(run: () => void, delayMs: number) {
      const timer = { atMs: elapsedMs + delayMs, run }
      timers.push(timer)
      return () => {
        timers = timers.filter((one) => one !== timer)
      }
    },
    advance(ms: number) {
      elapsedMs += ms
      const due = timers.filter(({ atMs }) => atMs <= elapsedMs)
      timers = timers.filter(({ atMs }) => atMs > elapsedMs)
      for (const { run } of due) run()
    },
    /** Sets the wall clock forward or back, like a person or NTP. Timers are not affected. */
    jump(ms: number) {
      offsetMs += ms
    },
    /** The remaining time of each active timer, in milliseconds. */
    delays: () => timers.map(({ atMs }) => atMs - elapsedMs),
  }
}
