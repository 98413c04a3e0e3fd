import { isIP } from 'node:net'
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
  /** For a server that is named by its IP address the client would ask for a certificate of `localhost`, whoever that was made for. */
  override connect(
    server: Parameters<NodeTransport['connect']>[0],
    options: Parameters<NodeTransport['connect']>[1],
  ): Promise<void> {
    const isAddress = isIP(server.hostname) !== 0 && server.tlsName === ''
    if (!isAddress || !options.tls) return super.connect(server, options)
    return super.connect(server, {
      ...options,
      tls: { ...options.tls, host: server.hostname } as typeof options.tls,
    })
  }

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
