import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** A port that nobody listens on, and that the kernel gives to no other process meanwhile. */
export interface HeldPort {
  readonly port: number
  release(): void
}

/**
 * Holds a free port on 127.0.0.1 without listening on it: connections to it are refused, until a server listens there.
 *
 * The local end of an open connection is bound to it. The kernel hands out no port that is bound, and lets a server that is told
 * the number listen beside a connection, as servers do that start again while old connections are still open (`SO_REUSEADDR`,
 * which Node.js, PostgreSQL and nats-server set). A port that was listened on and closed could be anybody's a moment later.
 */
export async function holdPort(): Promise<HeldPort> {
  const far = createServer((socket) => socket.on('error', () => {}))
  await once(far.listen(0, '127.0.0.1'), 'listening')
  const { port: farPort } = far.address() as { port: number }
  // Only a local address that is given binds the port before it connects.
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
