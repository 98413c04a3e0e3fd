import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Database } from '../../src/postgres/database.ts'

/** A message of the PostgreSQL protocol (PostgreSQL documentation, "Message Formats"). */
function message(type: string, body: Buffer): Buffer {
  const header = Buffer.alloc(5, type)
  header.writeUInt32BE(4 + body.length, 1)
  return Buffer.concat([header, body])
}

const AUTHENTICATION_OK = message('R', Buffer.alloc(4))
const READY_FOR_QUERY = message('Z', Buffer.from('I'))
const TERMINATED = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'))

/** The server is shut down just when a login succeeds, so the client gets the success and the error in one chunk. */
async function startClosingServer(): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATION_OK, READY_FOR_QUERY, TERMINATED])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

test.each([
  ['a transaction', (database: Database) => database.transaction(async (one) => one.query('SELECT 1'))],
  ['a read', (database: Database) => database.reading(async (one) => one.query('SELECT 1'))],
  ['a single statement', (database: Database) => database.query('SELECT 1')],
])(
  'if PostgreSQL ends a new connection as soon as it is ready, %s fails, and the process goes on',
  async (_what, run) => {
    const uncaught: unknown[] = []
    const note = (error: unknown) => void uncaught.push(error)
    process.on('uncaughtException', note)
    onTestFinished(() => void process.off('uncaughtException', note))
    const port = await startClosingServer()
    const database = new Database(`postgres://collector@127.0.0.1:${port}/events`)
    onTestFinished(() => database.close())

    await expect(run(database)).rejects.toThrow(/onnection/)

    expect(uncaught).toEqual([])
  },
)
