import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** A port on which no server listens. The kernel does not assign it to another process until `release()`. */
export interface HeldPort {
  readonly port: number
  release(): void
}

/**
 * Holds a free port on 127.0.0.1 without listening on it: connections to it are refused until a server listens there.
 *
 * An open connection uses the port as its local port. The kernel never assigns such a port to a process that asks for
 * any free port. But a server that asks for this number may listen on it, like a restarted server while old
 * connections are open (`SO_REUSEADDR`, which Node.js, PostgreSQL and nats-server set). If a port were only opened
 * and closed again, another process could take it a moment later.
 */
export async function holdPort(): Promise<HeldPort> {
  const far = createServer((socket) => socket.on('error', () => {}))
  await once(far.listen(0, '127.0.0.1'), 'listening')
  const { port: farPort } = far.address() as { port: number }
  // The local address is given, so that the port is bound before the connection is made.
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
