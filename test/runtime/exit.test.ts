import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

type Exit = typeof import('../../src/runtime/exit.ts')

let exit: Exit
/** The listeners that the module has added, and all events that it listens to. */
let listeners: { event: string; listener: () => void }[]
let events: string[]
let warnings: ReturnType<typeof vi.spyOn>

/** A client with nothing to send. */
function createClient(isKept = false) {
  return { accepted: 0, onExit: vi.fn(() => isKept), onEnd: vi.fn() }
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
  warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  vi.resetModules()
  exit = await import('../../src/runtime/exit.ts')
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.resetModules()
})

/** @param others Listeners of the program, behind ours. */
async function runOutOfWork(others = () => {}): Promise<void> {
  emit('beforeExit')
  others()
  await new Promise((resolve) => setImmediate(resolve))
}

function emit(name: string): void {
  for (const { event, listener } of listeners) if (event === name) listener()
}

describe('the exit', () => {
  test('before any client has events, nothing listens', () => {
    expect(events).toEqual([])
  })

  test('all clients share one listener, for beforeExit and nothing else', () => {
    for (let count = 0; count < 50; count++) exit.watchExit(createClient())

    expect(events).toEqual(['beforeExit'])
  })

  test('every client with events is called when the process runs out of work', async () => {
    const clients = [createClient(), createClient()]
    for (const client of clients) exit.watchExit(client)

    await runOutOfWork()

    for (const { onExit } of clients) expect(onExit).toHaveBeenCalledTimes(1)
  })

  test('P7: a client is called when all listeners have run, and the microtasks that they lead to', async () => {
    const client = createClient()
    const seen: number[] = []
    client.onExit.mockImplementation(() => seen.push(client.accepted) > 0)
    exit.watchExit(client)

    await runOutOfWork(async () => {
      client.accepted++
      await null
      await null
      client.accepted++
    })

    expect(seen).toEqual([2])
  })

  test('a client that is watched no longer is not called', async () => {
    const client = createClient()
    exit.watchExit(client)()

    await runOutOfWork()

    expect(client.onExit).not.toHaveBeenCalled()
  })

  test('a client that leaves while others are called takes nobody with it', async () => {
    let unwatch = (): void => {}
    const [first, second] = [createClient(), createClient()]
    first.onExit.mockImplementation(() => {
      unwatch()
      return false
    })
    unwatch = exit.watchExit(first)
    exit.watchExit(second)

    await runOutOfWork()
    await runOutOfWork()

    expect(first.onExit).toHaveBeenCalledTimes(1)
    expect(second.onExit).toHaveBeenCalledTimes(2)
  })

  test('a client that nobody holds any more is not kept in memory', async () => {
    const collect = (await import('node:v8')).setFlagsFromString
    collect('--expose-gc')
    const gc = (await import('node:vm')).runInNewContext('gc') as () => void
    let calls = 0
    for (let count = 0; count < 5_000; count++) {
      const client = { big: new Array(1_000), accepted: 0, onExit: () => calls++ > 0, onEnd() {} }
      exit.watchExit(client)
    }

    // A WeakRef keeps its object alive until the end of the turn.
    await new Promise((resolve) => setImmediate(resolve))
    gc()
    await runOutOfWork()

    expect(calls).toBeLessThan(500)
  })

  test('a runtime without a process has nothing to watch', async () => {
    vi.stubGlobal('process', undefined)
    vi.resetModules()
    const { watchExit } = await import('../../src/runtime/exit.ts')

    expect(() => watchExit(createClient())()).not.toThrow()
  })

  describe('a listener that tracks each time', () => {
    test('keeps the process once, not for ever; what is left has its outcome at the end, and all is told once', async () => {
      const client = createClient(true)
      exit.watchExit(client)
      const track = (): number => client.accepted++

      await runOutOfWork(track)
      await runOutOfWork(track)
      emit('exit')

      expect(client.onExit).toHaveBeenCalledTimes(1)
      expect(client.onEnd).toHaveBeenCalledTimes(1)
      expect(warnings.mock.calls).toEqual([
        [expect.stringContaining("process.once('beforeExit', ...)"), expect.anything()],
      ])
    })

    test('keeps it again when the process had work of its own meanwhile', async () => {
      const client = createClient(true)
      exit.watchExit(client)
      const track = (): number => client.accepted++

      await runOutOfWork(track)
      await runOutOfWork(track)
      await runOutOfWork(track)
      client.accepted++ // Tracked by that work.
      await runOutOfWork(track)

      expect(client.onExit).toHaveBeenCalledTimes(3)
    })

    test('does not stop others from being sent', async () => {
      const [endless, other] = [createClient(true), createClient(true)]
      exit.watchExit(endless)
      exit.watchExit(other)

      await runOutOfWork(() => endless.accepted++)
      await runOutOfWork(() => endless.accepted++)

      expect(other.onExit).toHaveBeenCalledTimes(2)
      expect(other.onEnd).not.toHaveBeenCalled()
    })
  })
})
