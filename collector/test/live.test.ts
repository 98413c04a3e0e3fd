import { expect, test } from 'vitest'
import { runInTurns } from '../src/store/sqlite/steps.ts'
import { newDatabaseFile } from './support/process.ts'
import { fakeClock, openCollector } from './support.ts'

test('the stream sends a message at least every two seconds, even if nothing has changed', async () => {
  const clock = fakeClock()
  const collector = await openCollector({ clock })
  const response = await fetch(`${collector.url}/api/stream`)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const messages = () => text.split('data: ').length - 1
  const readUntil = async (count: number) => {
    while (messages() < count) text += (await reader?.read())?.value ?? ''
  }
  await readUntil(1)

  for (let elapsedMs = 0; elapsedMs < 2000; elapsedMs += 250) clock.advance(250)
  await readUntil(2)

  expect(messages()).toBe(2)
  await reader?.cancel()
})

test('the stream and the statistics contain the id of the process, which changes after a restart', async () => {
  const database = newDatabaseFile()
  const told = async () => {
    const collector = await openCollector({ store: database })
    const leave = new AbortController()
    const { body } = await fetch(`${collector.url}/api/stream`, { signal: leave.signal })
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!/^data: .*\n\n/m.test(text)) text += (await reader?.read())?.value ?? ''
    const { process, epoch } = JSON.parse(/^data: (.*)/m.exec(text)?.[1] ?? '')
    expect(await (await fetch(`${collector.url}/api/stats`)).json()).toMatchObject({ process, epoch })
    leave.abort()
    await collector.close()
    return { process, epoch }
  }

  const [before, after] = [await told(), await told()]

  expect(before.process).toEqual(expect.any(String))
  expect(after.process).not.toBe(before.process)
  expect(after.epoch).toBe(before.epoch)
})

test('a long query does not block other requests', async () => {
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const spin = (ms: number) => {
    const endMs = performance.now() + ms
    while (performance.now() < endMs);
  }
  function* work(): Generator<undefined, string, readonly unknown[]> {
    for (let slice = 0; slice < 10; slice++) {
      spin(10)
      yield
    }
    return 'found'
  }

  expect(await runInTurns(work(), () => [])).toBe('found')
  isDone = true
  expect(turns).toBeGreaterThanOrEqual(9)
})

test('a HEAD request for the stream gets the headers and ends', async () => {
  const collector = await openCollector()

  const response = await fetch(`${collector.url}/api/stream`, { method: 'HEAD' })

  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  expect(await response.text()).toBe('')
})
