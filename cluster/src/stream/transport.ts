import {
  type ConnectionOptions,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
} from '@nats-io/transport-node'
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js'

type Server = Parameters<NodeTransport['connect']>[0]

class EndingTransport extends NodeTransport {
  /** Without `host`, the client would compare the certificate of a server that is given by its IP address with `localhost`. */
  override connect(server: Server, options: ConnectionOptions): Promise<void> {
    const tls = options.tls && { ...options.tls, host: server.hostname }
    return super.connect(server, tls ? { ...options, tls } : options)
  }

  /**
   * A suspended server (SIGSTOP) still accepts connections, but sends nothing. The NATS client gives up after its timeout, but
   * leaves the socket open, which would keep the process alive for ever.
   *
   * @see https://github.com/nats-io/nats.js/issues/64
   */
  override async close(error?: Error): Promise<void> {
    if (this.connected) await super.close(error)
    else this.discard()
  }
}

export function connect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndingTransport(), dnsResolveFn: nodeResolveHost })
  return NatsConnectionImpl.connect(options)
}
