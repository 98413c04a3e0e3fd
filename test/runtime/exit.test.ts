import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

type Exit = typeof import('../../src/runtime/exit.node.ts')

let exit: Exit
/** The listeners that src/runtime/exit.node.ts has added to the process, and the names of their events. */
let listeners: { event: string; listener: () => void }[]
let events: string[]
let warnings: ReturnType<typeof vi.spyOn>

/** `onExit` returns whether the client keeps the process alive. */
function createClient(isKept = false) {
  exit.listenToExit()
  const state = { accepted: 0, keptAt: undefined as number | undefined, isRepeated: false }
  return Object.assign(state, { onExit: vi.fn(() => isKept), onEnd: vi.fn() })
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

    for (const { onExit } of clients) expect(onExit).toHaveBeenCalledTimes(1)
  })

  test('a client is called after all listeners, and after the microtasks that they start', async () => {
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

  test('a client that is no longer watched is not called', async () => {
    const client = createClient()
    exit.watchExit(client)
    exit.unwatchExit(client)

    await runOutOfWork()

    expect(client.onExit).not.toHaveBeenCalled()
  })

  test('a client that stops watching while others are called does not prevent their calls', async () => {
    const [first, second] = [createClient(), createClient()]
    first.onExit.mockImplementation(() => {
      exit.unwatchExit(first)
      return false
    })
    exit.watchExit(first)
    exit.watchExit(second)

    await runOutOfWork()
    await runOutOfWork()

    expect(first.onExit).toHaveBeenCalledTimes(1)
    expect(second.onExit).toHaveBeenCalledTimes(2)
  })

  test('without a process in the runtime there is nothing to watch', async () => {
    vi.stubGlobal('process', undefined)
    vi.resetModules()
    const { listenToExit } = await import('../../src/runtime/exit.node.ts')

    expect(() => listenToExit()).not.toThrow()
  })

  describe('a listener that tracks an event each time', () => {
    test('keeps the process alive once, not for ever; the remaining events have their outcome at exit', async () => {
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

    test('keeps the process alive again when the process had other work meanwhile', async () => {
      const client = createClient(true)
      exit.watchExit(client)
      const track = (): number => client.accepted++

      await runOutOfWork(track)
      await runOutOfWork(track)
      await runOutOfWork(track)
      client.accepted++ // An event that other work has tracked before the process runs out of work again.
      await runOutOfWork(track)

      expect(client.onExit).toHaveBeenCalledTimes(3)
    })

    test('does not prevent other events from being sent', async () => {
      const [endless, other] = [createClient(true), createClient(true)]
      exit.watchExit(endless)
      exit.watchExit(other)

      await runOutOfWork(() => endless.accepted++)
      await runOutOfWork(() => endless.accepted++)

      expect(other.onExit).toHaveBeenCalledTimes(2)
    })
  })
})
