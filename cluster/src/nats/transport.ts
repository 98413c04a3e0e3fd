import { isIP } from 'node:net'
import {
  type ConnectionOptions,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
} from '@nats-io/transport-node'
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js'

/**
 * A suspended server (SIGSTOP) still accepts connections, but sends nothing. The NATS client gives up after its timeout, but
 * leaves the socket open, which would keep the process alive forever. This transport closes the socket.
 *
 * @see https://github.com/nats-io/nats.js/issues/64
 */
class EndingTransport extends NodeTransport {
  /** Passes an IP address on as the TLS host, because the client would otherwise expect a certificate for `localhost`. */
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

export function connect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndingTransport(), dnsResolveFn: nodeResolveHost })
  return NatsConnectionImpl.connect(options)
}
