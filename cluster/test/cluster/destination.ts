import { once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** A webhook receiver that sometimes fails. */
export class Destination {
  /** The idempotency keys with which each messageId was sent, including failed attempts. */
  readonly keys = new Map<string, Set<string>>()
  /** The messageIds that were sent with each idempotency key. */
  readonly messages = new Map<string, Set<string>>()
  /** The messageIds that got 200. */
  readonly taken = new Set<string>()
  attempts = 0
  #server = createServer()
  url = ''

  /** @param random Decides which attempts fail: one in 20 gets 503, and one in 50 loses its connection. */
  static async open(random: () => number): Promise<Destination> {
    const destination = new Destination()
    destination.#server.on('request', async (request, response) => {
      const body = await buffer(request).catch(() => undefined)
      if (body === undefined) return
      destination.attempts++
      const { messageId } = JSON.parse(body.toString()) as { messageId: string }
      const key = String(request.headers['idempotency-key'])
      note(destination.keys, messageId, key)
      note(destination.messages, key, messageId)
      const chance = random()
      if (chance < 0.05) response.writeHead(503).end()
      else if (chance < 0.07) request.socket.destroy()
      else {
        destination.taken.add(messageId)
        response.writeHead(200).end()
      }
    })
    destination.#server.listen(0, '127.0.0.1')
    await once(destination.#server, 'listening')
    const { port } = destination.#server.address() as { port: number }
    destination.url = `http://127.0.0.1:${port}/`
    return destination
  }

  /** Keys with several messages, and messages with several keys. */
  get mixedUp(): string[] {
    return [this.keys, this.messages].flatMap((map) =>
      [...map].filter(([, others]) => others.size !== 1).map(([one]) => one),
    )
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

function note(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key)
  if (values === undefined) map.set(key, new Set([value]))
  else values.add(value)
}
