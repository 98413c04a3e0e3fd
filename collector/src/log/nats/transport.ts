import {
  type ConnectionOptions,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
} from '@nats-io/transport-node'
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js'

/**
 * A server that is stopped takes connections all the same, and says nothing on them. The client gives such an attempt up after its
 * timeout, and leaves the socket open: for ever, and with it the process.
 *
 * @see https://github.com/nats-io/nats.js/issues/64
 */
class EndingTransport extends NodeTransport {
  override async close(error?: Error): Promise<void> {
    if (this.connected) await super.close(error)
    else this.discard()
  }
}

/** Connects as the client would by itself, and leaves no socket behind. */
export function connect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndingTransport(), dnsResolveFn: nodeResolveHost })
  return NatsConnectionImpl.connect(options)
}
