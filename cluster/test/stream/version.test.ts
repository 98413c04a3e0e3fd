import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { StreamConnection } from '../../src/stream/connection.ts'
import { isTooOld } from '../../src/stream/version.ts'
import { SETTINGS, until } from '../support/stream.ts'

test('a nats-server that can lose events is refused, with the version that is needed', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(`INFO ${JSON.stringify({ version: '2.9.10', max_payload: 1_048_576, headers: true })}\r\n`)
    socket.on('data', (data) => data.includes('PING') && socket.write('PONG\r\n'))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = `nats://127.0.0.1:${(server.address() as AddressInfo).port}`
  const faults: string[] = []
  const onFault = (_what: string, cause: unknown) => faults.push((cause as Error).message)
  const stream = new StreamConnection({ address, settings: SETTINGS, onFault })
  onTestFinished(() => stream.close())

  const refusal = 'nats-server 2.9.10 can lose events when it is started again: 2.10.27 or later is needed'
  await until(() => faults.length > 0)
  expect(faults).toEqual([refusal])
  expect(stream.reason).toBe(refusal)
  await expect(stream.publish('trackpost.accepted', Buffer.from(''))).rejects.toThrow(refusal)
})

test('versions are compared by their numbers', () => {
  for (const version of ['', '2.9.25', '2.10.3', '2.10.26']) expect(isTooOld(version), version).toBe(true)
  for (const version of ['2.10.27', '2.11.0', '2.15.1', '3.0.0', '10.0.0'])
    expect(isTooOld(version), version).toBe(false)
})
