import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { examplePath, runNode, WRITE_KEY } from './run-node.ts'

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(() => receiver.close())

test('no e-mail address leaves the process, and everything else is sent', async () => {
  const exit = await runNode([examplePath('redact-emails.mjs')], {
    TRACKPOST_WRITE_KEY: WRITE_KEY,
    TRACKPOST_HOST: receiver.url,
  })

  expect(exit).toEqual({ code: 0, signal: null, stdout: 'delivered: 2, failed: 0\n', stderr: '' })
  expect(JSON.stringify(receiver.events)).not.toMatch(/@|%40/)
  expect(receiver.events).toMatchObject([
    { type: 'identify', traits: { name: 'Zoë Åström', email: '[e-mail]', plan: 'team' } },
    {
      type: 'track',
      properties: {
        note: 'Invited [e-mail] and [e-mail] today',
        invited: [{ email: '[e-mail]', role: 'editor' }],
        byAddress: { '[e-mail]': { opened: false } },
      },
      context: { page: { url: 'https://shop.example/invite?to=[e-mail]' } },
    },
  ])
  expect(Date.parse(receiver.events[0]?.timestamp ?? '')).not.toBeNaN()
})
