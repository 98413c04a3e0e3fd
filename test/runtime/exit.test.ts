import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

type Exit = typeof import('../../src/runtime/exit.node.ts')

let exit: Exit
/** The listeners that src/runtime/exit.node.ts has added to the process, and the names of their events. */
let listeners: { event: string; listener: () => void }[]
let events: string[]

function createClient() {
  exit.listenToExit()
  return { accepted: 0, onIdle: vi.fn(), onExit: vi.fn() }
}

beforeEach(async () => {
  listeners = []
  events = []
  const add = (event: string | symbol, listener: unknown): NodeJS.Process => {
    events.push(String(event))
    listeners.push({ event: String(event), listener: listener as () => void })
    return process
  }
  vi.spyOn(process, 'on').mockImplementation(add)
  vi.spyOn(process, 'prependListener').mockImplementation(add)
  vi.resetModules()
  exit = await import('../../src/runtime/exit.node.ts')
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.resetModules()
})

/** @param others A listener of the program, which runs after ours. */
async function runOutOfWork(others = () => {}): Promise<void> {
  emit('beforeExit')
  others()
  await new Promise((resolve) => setImmediate(resolve))
}

function emit(name: string): void {
  for (const { event, listener } of listeners) if (event === name) listener()
}

describe('the exit', () => {
  test('before any client is made there are no listeners', () => {
    expect(events).toEqual([])
  })

  test('all clients share one listener for beforeExit, and one for exit', () => {
    for (let count = 0; count < 50; count++) exit.listenToExit()

    expect(events).toEqual(['beforeExit', 'exit'])
  })

  test('every watched client is called when the process runs out of work', async () => {
    const clients = [createClient(), createClient()]
    for (const client of clients) exit.watchExit(client)

    await runOutOfWork()

    for (const { onIdle, onExit } of clients) {
      expect(onIdle).toHaveBeenCalledTimes(1)
      expect(onExit).not.toHaveBeenCalled()
    }
  })

  test('a client is called after all listeners, and after the microtasks that they start', async () => {
    const client = createClient()
    const seen: number[] = []
    client.onIdle.mockImplementation(() => seen.push(client.accepted))
    exit.watchExit(client)

    await runOutOfWork(async () => {
      client.accepted++
      await null
      await null
      client.accepted++
    })

    expect(seen).toEqual([2])
  })

  test('a client that is no longer watched is not called', async () => {
    const client = createClient()
    exit.watchExit(client)
    exit.unwatchExit(client)

    await runOutOfWork()

    expect(client.onIdle).not.toHaveBeenCalled()
  })

  test('a client that stops watching while others are called does not prevent their calls', async () => {
    const [first, second] = [createClient(), createClient()]
    for (const call of [first.onIdle, first.onExit]) call.mockImplementation(() => exit.unwatchExit(first))
    exit.watchExit(first)
    exit.watchExit(second)

    await runOutOfWork()
    exit.watchExit(first)
    emit('exit')

    for (const { onIdle, onExit } of [first, second]) {
      expect([onIdle.mock.calls.length, onExit.mock.calls.length]).toEqual([1, 1])
    }
  })

  test('at the exit every watched client is called at once', () => {
    const [watched, unwatched] = [createClient(), createClient()]
    exit.watchExit(watched)

    emit('exit')

    expect(watched.onExit).toHaveBeenCalledTimes(1)
    expect(watched.onIdle).not.toHaveBeenCalled()
    expect(unwatched.onExit).not.toHaveBeenCalled()
  })

  test('without a process in the runtime there is nothing to watch', async () => {
    vi.stubGlobal('process', undefined)
    vi.resetModules()
    const { listenToExit } = await import('../../src/runtime/exit.node.ts')

    expect(() => listenToExit()).not.toThrow()
  })
})
