import type { ConnectionOptions } from '@nats-io/transport-node'
import { ConfigError } from 'trackpost-collector'

export interface StreamAddress {
  /** Without the login. */
  shown: string
  options: Partial<ConnectionOptions>
}

/**
 * Parses an address such as `nats://user:password@host:4222,other:4222`.
 *
 * @throws ConfigError when the address does not have this form.
 */
export function readAddress(address: string): StreamAddress {
  const [, scheme, rest] = /^(nats|tls):\/\/([^/?#]+)\/?$/.exec(address) ?? []
  const at = rest?.lastIndexOf('@') ?? -1
  const hosts = rest?.slice(at + 1).split(',') ?? []
  if (scheme === undefined || !hosts.every((host) => host !== '' && URL.canParse(`http://${host}`)))
    throw new ConfigError(
      'log: expected nats://<host>[:port][,<host>[:port]...], or tls://..., with no parameters',
    )
  const [user, password] = (rest ?? '').slice(0, Math.max(0, at)).split(':').map(decodeURIComponent)
  const login = password === undefined ? { token: user } : { user, pass: password }
  return {
    shown: `${scheme}://${hosts.join(',')}`,
    options: {
      servers: hosts.map((host) => (scheme === 'tls' ? `tls://${host}` : host)),
      ...(at >= 0 && login),
      ...(scheme === 'tls' && { tls: {} }),
    } as Partial<ConnectionOptions>,
  }
}
