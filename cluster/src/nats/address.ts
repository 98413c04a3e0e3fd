import type { ConnectionOptions } from '@nats-io/transport-node'
import { ConfigError, decoded } from 'trackpost-collector/ports'

/**
 * Parses an address such as `nats://user:password@host:4222,other:4222`. `shown` is the address without the login.
 *
 * @throws ConfigError when the address does not have this form.
 */
export function readAddress(address: string): {
  servers: string[]
  shown: string
  login: Partial<ConnectionOptions>
} {
  const wrong = new ConfigError(
    'log: expected nats://<host>[:port][,<host>[:port]...], or tls://..., with no parameters',
  )
  const [, scheme, rest] = /^(nats|tls):\/\/([^/?#]+)\/?$/.exec(address) ?? []
  if (scheme === undefined || rest === undefined) throw wrong
  const at = rest.lastIndexOf('@')
  const hosts = rest.slice(at + 1).split(',')
  if (!hosts.every((host) => host !== '' && URL.canParse(`http://${host}`))) throw wrong
  const [user, password] = rest.slice(0, Math.max(0, at)).split(':').map(decoded)
  const login = password === undefined ? { token: user } : { user, pass: password }
  return {
    servers: hosts.map((host) => (scheme === 'tls' ? `tls://${host}` : host)),
    shown: `${scheme}://${hosts.join(',')}`,
    login: { ...(at >= 0 && login), ...(scheme === 'tls' && { tls: {} }) } as Partial<ConnectionOptions>,
  }
}
