import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { examplePath, runNode, WRITE_KEY } from './run-node.ts'

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(() => receiver.close())

/** The data points of one metric in the output of the console exporter. */
function pointsOf(stdout: string, name: string): string[] {
  const start = stdout.indexOf(`name: '${name}'`)
  if (start < 0) return []
  const end = stdout.indexOf("name: 'trackpost.", start + 1)
  const text = stdout.slice(start, end < 0 ? undefined : end)
  return [...text.matchAll(/attributes: \{([^}]*)\}[\s\S]*?value: ([\d.]+)/g)].map(
    ([, attributes = '', value]) => `${attributes.trim()} ${value}`.trim(),
  )
}

test('the real SDK of OpenTelemetry collects the values of stats and status', async () => {
  const { code, stdout, stderr } = await runNode([examplePath('opentelemetry.mjs')], {
    TRACKPOST_WRITE_KEY: WRITE_KEY,
    TRACKPOST_HOST: receiver.url,
  })

  expect(code).toBe(0)
  expect(stderr).toContain('TRACKPOST_INVALID')
  expect(pointsOf(stdout, 'trackpost.events.accepted')).toEqual(['2'])
  expect(pointsOf(stdout, 'trackpost.events.settled')).toEqual([
    "outcome: 'delivered' 1",
    "outcome: 'invalid' 1",
  ])
  for (const name of ['events.pending', 'queue.events', 'queue.bytes', 'requests.active', 'pause'])
    expect([name, pointsOf(stdout, `trackpost.${name}`)]).toEqual([name, ['0']])
  expect(pointsOf(stdout, 'trackpost.last_delivery.age')).toHaveLength(1)
  expect(receiver.events).toMatchObject([{ event: 'Report Exported' }])
})
