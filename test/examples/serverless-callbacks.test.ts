import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Exit } from '../support/program.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { examplePath, runNode, WRITE_KEY } from './run-node.ts'

const ORDER = { orderId: 'order-5012', userId: 'user-1004', total: 5800, currency: 'JPY' }

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(() => receiver.close())

/** The process is killed as soon as the handler has returned, as a serverless platform may do. */
function invoke(writeKey: string): Promise<Exit> {
  const platform = `
    import { writeSync } from 'node:fs'
    import { handler } from ${JSON.stringify(pathToFileURL(examplePath('serverless-callbacks.mjs')).href)}
    const answer = await handler(${JSON.stringify(ORDER)})
    writeSync(1, JSON.stringify(answer))
    process.kill(process.pid, 'SIGKILL')`
  return runNode(['--input-type=module', '--eval', platform], {
    TRACKPOST_WRITE_KEY: writeKey,
    TRACKPOST_HOST: receiver.url,
    // By this variable of the platform, the client knows that it must not wait for a full batch.
    AWS_LAMBDA_FUNCTION_NAME: 'orders',
  })
}

test('the events have arrived when the handler returns', async () => {
  const exit = await invoke(WRITE_KEY)

  expect(exit).toMatchObject({ signal: 'SIGKILL', stderr: '' })
  expect(JSON.parse(exit.stdout)).toEqual({ statusCode: 200, body: '{"orderId":"order-5012"}' })
  const byType = new Map(receiver.events.map((event) => [event.type, event]))
  expect(byType.get('identify')).toMatchObject({ userId: 'user-1004', traits: { lastOrderId: 'order-5012' } })
  expect(byType.get('track')).toMatchObject({ event: 'Order Completed', properties: { total: 5800 } })
  expect(receiver.requests.map((ids) => ids.length)).toEqual([2])
})

test('an order does not fail when its events are lost, but the loss is logged', async () => {
  const exit = await invoke('not-the-key')

  expect(JSON.parse(exit.stdout)).toMatchObject({ statusCode: 200 })
  expect(exit.stderr.match(/not delivered: auth: \[401\] Unauthorized/g)).toHaveLength(2)
  expect(receiver.events).toEqual([])
})
