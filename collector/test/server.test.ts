import { Server } from 'node:net'
import { expect, test, vi } from 'vitest'
import { openCollector } from './support.ts'

test('the system keeps 4,096 connections waiting, as the runtime accepts one in a turn', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen')
  try {
    await openCollector()

    expect(listen.mock.calls[0]?.[0]).toMatchObject({ backlog: 4096 })
  } finally {
    listen.mockRestore()
  }
})
