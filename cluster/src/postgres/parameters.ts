import { accessSync, constants } from 'node:fs'
import { AddressError } from 'trackpost-collector/ports'

/** Parameters of the address that the client `pg` uses. */
const OF_CLIENT = [
  'application_name',
  'client_encoding',
  'db',
  'encoding',
  'fallback_application_name',
  'host',
  'idle_in_transaction_session_timeout',
  'lock_timeout',
  'options',
  'password',
  'port',
  'query_timeout',
  'ssl',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'statement_timeout',
  'uselibpqcompat',
  'user',
]

/** Parameters that `pg` ignores. They are allowed, because hosting providers put them into addresses for other clients. */
const OF_LIBPQ: ReadonlySet<string> = new Set(
  `channel_binding connect_timeout dbname gssdelegation gssencmode gsslib hostaddr keepalives keepalives_count keepalives_idle
  keepalives_interval krbsrvname load_balance_hosts max_protocol_version min_protocol_version passfile replication require_auth
  requirepeer requiressl service ssl_max_protocol_version ssl_min_protocol_version sslcertmode sslcompression sslcrl sslcrldir
  sslpassword sslsni target_session_attrs tcp_user_timeout`.split(/\s+/),
)

const FILES = ['sslrootcert', 'sslcert', 'sslkey']

/**
 * Checks the parameters of an address, as in `postgres://...?sslmode=verify-full`, because `pg` silently ignores unknown ones.
 *
 * @throws AddressError when a parameter is unknown, or names a file that cannot be read.
 */
export function checkParameters(address: string): void {
  const { searchParams } = new URL(address)
  // The message does not contain the unknown parameter, which may be a part of a password that is not percent-encoded.
  const isKnown = (name: string) => OF_CLIENT.includes(name) || OF_LIBPQ.has(name)
  if (![...searchParams.keys()].every(isKnown)) {
    throw new AddressError(
      `a parameter of the address is not known; those after ? are ${OF_CLIENT.join(', ')}, and others of libpq`,
    )
  }
  for (const name of FILES) {
    // If a parameter occurs several times, the client uses the last value.
    const path = searchParams.getAll(name).at(-1)
    if (!path) continue
    try {
      accessSync(path, constants.R_OK)
    } catch (cause) {
      throw new AddressError(
        `${name}: ${path} cannot be read (${(cause as NodeJS.ErrnoException).code}); name a file that this user may read`,
      )
    }
  }
}
