import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Running } from '../support/program.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { examplePath, startNode, WRITE_KEY } from './run-node.ts'

const PATHS = Array.from({ length: 40 }, (_, index) => `/articles/${index}-über-alles`)

let receiver: Receiver
let service: Running

beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(async () => {
  service.child.kill('SIGKILL')
  await receiver.close()
})

async function visitAll(writeKey: string): Promise<void> {
  const env = { TRACKPOST_WRITE_KEY: writeKey, TRACKPOST_HOST: receiver.url, PORT: '0' }
  service = startNode([examplePath('http-service.mjs')], env)
  const [, url] = await service.prints(/listening on (\S+)\n/)
  for (const path of PATHS) {
    const response = await fetch(encodeURI(url + path), { headers: { 'X-Visitor-Id': 'visitor-7' } })
    expect(await response.text()).toContain('You are looking at')
  }
}

function arrivedPaths(): string[] {
  return receiver.events.map(({ properties }) => decodeURI(String(properties?.['path']))).sort()
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s delivers every event and ends with exit code 0',
  async (signal) => {
    await visitAll(WRITE_KEY)

    service.child.kill(signal)
    const exit = await service.ended

    expect(exit).toMatchObject({ code: 0, signal: null, stderr: '' })
    expect(arrivedPaths()).toEqual([...PATHS].sort())
  },
)

test('lost events are reported by the exit code and on stderr', async () => {
  await visitAll('not-the-key')

  service.child.kill('SIGTERM')
  const exit = await service.ended

  expect(exit).toMatchObject({ code: 1, signal: null })
  expect(exit.stderr.match(/not delivered: auth: \[401\] Unauthorized/g)).toHaveLength(PATHS.length)
  expect(receiver.events).toEqual([])
})
