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

  test('a client whose events all have their outcome is not called', () => {
    const client = { onExit: vi.fn() }
    exit.watchExit(client)
    exit.unwatchExit(client)

    runOutOfWork()

    expect(client.onExit).not.toHaveBeenCalled()
  })

  test('a client that is watched twice is called once', () => {
    const client = { onExit: vi.fn() }
    exit.watchExit(client)
    exit.watchExit(client)

    runOutOfWork()

    expect(client.onExit).toHaveBeenCalledTimes(1)
  })

  test('a client that leaves while others are called takes nobody with it', () => {
    const first = { onExit: vi.fn(() => exit.unwatchExit(first)) }
    const second = { onExit: vi.fn() }
    exit.watchExit(first)
    exit.watchExit(second)

    runOutOfWork()
    runOutOfWork()

    expect(first.onExit).toHaveBeenCalledTimes(1)
    expect(second.onExit).toHaveBeenCalledTimes(2)
  })

  test('a runtime without a process has nothing to watch', async () => {
    vi.stubGlobal('process', undefined)
    vi.resetModules()
    const { unwatchExit, watchExit } = await import('../../src/runtime/exit.ts')
    const client = { onExit() {} }

    expect(() => {
      watchExit(client)
      unwatchExit(client)
    }).not.toThrow()
  })
})
