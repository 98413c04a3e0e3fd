import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** A port on which nobody listens, and which the kernel gives to no other process meanwhile. */
export interface HeldPort {
  readonly port: number
  release(): void
}

/**
 * Holds a free port on 127.0.0.1 without listening on it: connections to it are refused until a server
 * listens there.
 *
 * To hold it, an open connection has this port as its local port. The kernel never assigns a bound port, but a server may
 * still listen on it by number, as restarted servers do while old connections are open (`SO_REUSEADDR`, which
 * Node.js, PostgreSQL and nats-server set). If a port were only opened and closed again, another process
 * could take it a moment later.
 */
export async function holdPort(): Promise<HeldPort> {
  const far = createServer((socket) => socket.on('error', () => {}))
  await once(far.listen(0, '127.0.0.1'), 'listening')
  const { port: farPort } = far.address() as { port: number }
  // Only an explicit local address binds the port before the connection is made.
  const held = connect({ host: '127.0.0.1', port: farPort, localAddress: '127.0.0.1', localPort: 0 })
  held.on('error', () => {})
  await once(held, 'connect')
  far.unref()
  held.unref()
  return {
    port: held.localPort as number,
    release() {
      held.destroy()
      far.close()
    },
  }
}
