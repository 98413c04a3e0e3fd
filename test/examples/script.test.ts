import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { examplePath, runNode, WRITE_KEY } from './run-node.ts'

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(() => receiver.close())

test('the script delivers its events and ends by itself', async () => {
  const exit = await runNode([examplePath('script.mjs')], {
    TRACKPOST_WRITE_KEY: WRITE_KEY,
    TRACKPOST_HOST: receiver.url,
  })

  expect(exit).toEqual({ code: 0, signal: null, stdout: 'delivered: 2, failed: 0\n', stderr: '' })
  expect(receiver.events).toMatchObject([
    { type: 'identify', userId: 'user-1042', traits: { name: 'Zoë Åström', plan: 'team' } },
    { type: 'track', userId: 'user-1042', event: 'Report Exported', properties: { pages: 12 } },
  ])
  expect(receiver.requests).toHaveLength(1)
})

test('the script reports lost events, also by its exit code', async () => {
  const exit = await runNode([examplePath('script.mjs')], {
    TRACKPOST_WRITE_KEY: 'not-the-key',
    TRACKPOST_HOST: receiver.url,
  })

  expect(exit).toMatchObject({ code: 1, stdout: 'delivered: 0, failed: 2\n' })
  expect(exit.stderr).toContain('TRACKPOST_AUTH')
  expect(receiver.events).toEqual([])
})
