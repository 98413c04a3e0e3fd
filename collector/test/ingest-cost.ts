import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { expect } from 'vitest'
import type { Running } from './support/process.ts'
import { basic } from './support.ts'

export const HEAP = { NODE_OPTIONS: '--max-old-space-size=300' }
export const REQUESTS = 6
export const MB = 1024 * 1024

/** Many small items with a large inherited context; 500 KB in total. */
export const items = Array.from({ length: 5000 }, () => '{"type":"track","event":"a","userId":"u"}').join()
export const heavy = `{"context":{"x":"${'x'.repeat(290_000)}"},"batch":[${items}]}`

export function peakOf({ child }: Running): number {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

/** Not `fetch`: it would keep this process so busy that the health checks wait here, and not in the collector. */
export async function send(
  url: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<number | undefined> {
  const sent = request(`${url}/v1/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: basic('shop'), ...headers },
  }).end(body)
  const [response] = await once(sent, 'response')
  await once(response.resume(), 'end')
  return response.statusCode
}

export async function expectCheap(running: Running, body: string): Promise<void> {
  await warmUp(running)
  const before = peakOf(running)
  const done = Promise.all(Array.from({ length: REQUESTS }, () => send(running.url, body)))
  let isDone = false
  void done.finally(() => {
    isDone = true
  })
  let healthy = 0
  while (!isDone) if ((await fetch(`${running.url}/healthz`)).ok) healthy++

  expect(await done).toEqual(Array(REQUESTS).fill(200))
  expect(peakOf(running) - before).toBeLessThan(150 * MB)
  // A blocked process would respond once or twice. Unlike a time, this count is valid on any machine.
  expect(healthy).toBeGreaterThan(REQUESTS)
}

/** Sends some requests first, so that the memory for the first requests of a process is not counted. */
export async function warmUp({ url }: Running): Promise<void> {
  const tiny = '{"batch":[{"type":"track","event":"a","userId":"u","messageId":"m1"}]}'
  for (let count = 0; count < 20; count++) await send(url, tiny)
}
