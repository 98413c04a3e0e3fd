import {
  type ConnectionOptions,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
} from '@nats-io/transport-node'
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js'

/**
 * A suspended server (SIGSTOP) still accepts connections, but sends nothing. The NATS client gives up after its timeout, but
 * leaves the socket open, which would keep the process alive for ever. This transport closes the socket.
 *
 * @see https://github.com/nats-io/nats.js/issues/64
 */
class EndingTransport extends NodeTransport {
  override async close(error?: Error): Promise<void> {
    if (this.connected) await super.close(error)
    else this.discard()
  }
}

export function connect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndingTransport(), dnsResolveFn: nodeResolveHost })
  return NatsConnectionImpl.connect(options)
}
