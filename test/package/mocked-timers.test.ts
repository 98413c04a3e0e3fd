import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type * as Trackpost from '../../src/index.ts'
import { createProject, type Project } from './project.ts'

let project: Project
let trackpost: typeof Trackpost

beforeAll(async () => {
  project = await createProject()
  const path = join(project.folder, 'node_modules/trackpost/dist/index.js')
  trackpost = (await import(pathToFileURL(path).href)) as typeof Trackpost
})
afterAll(() => project?.remove())
afterEach(() => {
  vi.useRealTimers()
})

const ALL = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
  'Date',
  'performance',
  'queueMicrotask',
] as const

describe.each([
  ['with the defaults of Vitest', undefined],
  ['with the defaults of Jest', ALL],
  ['of setTimeout alone', ['setTimeout', 'clearTimeout'] as const],
])('B39: fake timers %s', (_label, toFake) => {
  test('an event is delivered after retries and a rate limit, and a flush resolves', async () => {
    vi.useFakeTimers(toFake === undefined ? {} : { toFake: [...toFake] })
    const statuses = [503, 429, 503]
    let requests = 0
    const analytics = new trackpost.Analytics({
      writeKey: 'a-write-key',
      flushAt: 5,
      httpClient: {
        async makeRequest() {
          requests++
          const status = statuses.shift() ?? 200
          return { status, statusText: '', headers: status === 200 ? {} : { 'Retry-After': '2' } }
        },
      },
    })
    let summary: Trackpost.FlushSummary | undefined

    for (let number = 0; number < 5; number++) analytics.track({ userId: 'ada', event: `Event ${number}` })
    void analytics.flush().then((result) => {
      summary = result
    })
    for (let step = 0; step < 60; step++) await vi.advanceTimersByTimeAsync(500)

    // Three failures, the probe that gets through, and the other four events.
    expect(requests).toBe(5)
    expect(summary).toEqual({ delivered: 5, failed: 0, pending: 0 })
  })
})
