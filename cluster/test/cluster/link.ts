import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/**
 * A connection between processes. It can be cut or stalled. With several targets it is a load balancer: each connection goes
 * to the next target that accepts it.
 */
export class Link {
  readonly port: number
  readonly #server = createServer()
  readonly #targets: readonly number[]
  readonly #sockets = new Set<Socket>()
  #turn = 0
  #state: 'open' | 'cut' | 'held' = 'open'

  /** @param targets Ports of this machine. */
  static async open(...targets: number[]): Promise<Link> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Link(server, targets)
  }

  private constructor(server: ReturnType<typeof createServer>, targets: readonly number[]) {
    this.#server = server
    this.#targets = targets
    this.port = (server.address() as { port: number }).port
    server.on('connection', (socket) => void this.#accept(socket))
  }

  async #accept(client: Socket): Promise<void> {
    this.#watch(client)
    if (this.#state === 'cut') return void client.destroy()
    for (let tries = 0; tries < this.#targets.length; tries++) {
      const target = this.#targets[this.#turn++ % this.#targets.length] as number
      const server = await connected(target)
      if (server === undefined) continue
      this.#watch(server)
      if (client.destroyed || (this.#state as string) === 'cut') {
        client.destroy()
        server.destroy()
        return
      }
      this.#forward(client, server)
      this.#forward(server, client)
      return
    }
    client.destroy()
  }

  #watch(socket: Socket): void {
    socket.setNoDelay(true)
    socket.on('error', () => {})
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
  }

  #forward(from: Socket, to: Socket): void {
    from.on('data', (chunk) => {
      if (!to.write(chunk)) from.pause()
    })
    to.on('drain', () => {
      if (this.#state === 'open') from.resume()
    })
    from.on('close', () => to.destroy())
    if (this.#state === 'held') from.pause()
  }

  cut(): void {
    this.#state = 'cut'
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Connections stay open, but no data gets through, so neither side notices. */
  hold(): void {
    this.#state = 'held'
    for (const socket of this.#sockets) socket.pause()
  }

  restore(): void {
    this.#state = 'open'
    for (const socket of this.#sockets) socket.resume()
  }

  close(): void {
    this.cut()
    this.#server.close()
  }
}

function connected(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}
