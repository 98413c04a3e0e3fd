import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

type Exit = typeof import('../../src/runtime/exit.ts')

let exit: Exit
/** The `beforeExit` listeners that the module has added, and all events that it listens to. */
let listeners: (() => void)[]
let events: string[]

beforeEach(async () => {
  listeners = []
  events = []
  vi.spyOn(process, 'on').mockImplementation((event, listener) => {
    events.push(String(event))
    if (event === 'beforeExit') listeners.push(listener as () => void)
    return process
  })
  vi.resetModules()
  exit = await import('../../src/runtime/exit.ts')
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.resetModules()
})

function runOutOfWork(): void {
  for (const listener of listeners) listener()
}

describe('the exit', () => {
  test('before any client has events, nothing listens', () => {
    expect(events).toEqual([])
  })

  test('all clients share one listener, for beforeExit and nothing else', () => {
    for (let count = 0; count < 50; count++) exit.watchExit({ onExit() {} })

    expect(events).toEqual(['beforeExit'])
  })

  test('every client with events is called when the process runs out of work', () => {
    const clients = [{ onExit: vi.fn() }, { onExit: vi.fn() }]
    for (const client of clients) exit.watchExit(client)

    runOutOfWork()

    for (const { onExit } of clients) expect(onExit).toHaveBeenCalledTimes(1)
  })

  test('a client that is watched no longer is not called', () => {
    const client = { onExit: vi.fn() }
    exit.watchExit(client)()

    runOutOfWork()

    expect(client.onExit).not.toHaveBeenCalled()
  })

  test('a client that leaves while others are called takes nobody with it', () => {
    let unwatch = (): void => {}
    const first = { onExit: vi.fn(() => unwatch()) }
    const second = { onExit: vi.fn() }
    unwatch = exit.watchExit(first)
    exit.watchExit(second)

    runOutOfWork()
    runOutOfWork()

    expect(first.onExit).toHaveBeenCalledTimes(1)
    expect(second.onExit).toHaveBeenCalledTimes(2)
  })

  test('a client that nobody holds any more is not kept in memory', async () => {
    const collect = (await import('node:v8')).setFlagsFromString
    collect('--expose-gc')
    const gc = (await import('node:vm')).runInNewContext('gc') as () => void
    let calls = 0
    for (let count = 0; count < 5_000; count++) {
      exit.watchExit({ big: new Array(1_000), onExit: () => calls++ } as { onExit(): void })
    }

    // What was made in a turn is held until its end.
    await new Promise((resolve) => setImmediate(resolve))
    gc()
    runOutOfWork()

    expect(calls).toBeLessThan(500)
  })

  test('a runtime without a process has nothing to watch', async () => {
    vi.stubGlobal('process', undefined)
    vi.resetModules()
    const { watchExit } = await import('../../src/runtime/exit.ts')

    expect(() => watchExit({ onExit() {} })()).not.toThrow()
  })
})
