import type { ParseArgsConfig } from 'node:util'

export type Flags = NonNullable<ParseArgsConfig['options']>

export const HELP = `trackpost-collector: the HTTP tracking API on your machine

Usage: trackpost-collector [options]
       trackpost-collector work --log <address> --store <address> [options]
       trackpost-collector keygen [--client-id <id>] [--key-id <id>]
       trackpost-collector check --plan <path> [--store <path>]
                                 [--search <line>]
       trackpost-collector healthcheck [--host <address>] [--port <number>]

  --port <number>      port, 0 = any free one  (8787)
  --host <address>     address to listen on  (127.0.0.1)
  --store <address>    SQLite file, :memory:, or
                       postgres://user:password@host/database, which any number
                       of collectors may share
                       (trackpost-collector.db in the user's data folder)
  --log <address>      nats://<host>: write events into this log, from where
                       workers carry them to the store; without --store this
                       process keeps nothing itself  (none)
  --config <path>      sources, destinations, OAuth ...
                       (none: any write key is accepted)
  --region <name>      default or eu  (default)
  --rate <number>      requests a second for each source  (no limit)
  --plan <path>        tracking plan (JSON Schema); events that violate it are
                       marked  (none)
  --release-to <url>   https://<write key>@<host>: service to which the web page
                       can send chosen events  (none)
  --browser-origin <origin>
                       pages of this origin may send events, * = all; can be
                       repeated  (pages of this machine)
  --public-url <url>   address under which clients reach it behind a proxy
                       (none)
  --allow-public       listen on an address that other machines can reach; needs
                       a TLS proxy in front
  --admin-token <text> token that the page, /api and /metrics require; better in
                       TRACKPOST_ADMIN_TOKEN  (none)
  --read-token <text>  token that may only read: the page, GET of /api, and
                       /metrics  (none)
  --protect            refuse to delete events and to inject faults
  --fail-rate <share>  respond with 503 to this share of requests, from 0 to 1
                       (0)
  --drain <seconds>    after SIGTERM, keep serving this long while /readyz says
                       503  (0)
  --log-format <name>  text, or json: one object per line  (text)
  --quiet              print only errors
  --version            the version
  --help, -h           this text

Each option can also be set in the environment: --drain 10 is
TRACKPOST_COLLECTOR_DRAIN=10. A flag wins.

work writes the events of the log to the store, and delivers them to
destinations; it also accepts events.
keygen makes an RSA key pair, and prints the settings for the SDK and for the
config file.
check compares the recorded events with a tracking plan, and exits with 1 if one
violates it.
healthcheck requests /readyz of the collector on this machine, and exits with 1
if it is not ready.
`

const HELP_FLAG = { type: 'boolean', short: 'h', default: false } as const

export const COLLECTOR_FLAGS = {
  port: { type: 'string', default: '8787' },
  host: { type: 'string', default: '127.0.0.1' },
  store: { type: 'string' },
  log: { type: 'string' },
  config: { type: 'string' },
  region: { type: 'string' },
  rate: { type: 'string' },
  plan: { type: 'string' },
  'release-to': { type: 'string' },
  'browser-origin': { type: 'string', multiple: true },
  'public-url': { type: 'string' },
  'allow-public': { type: 'boolean', default: false },
  'admin-token': { type: 'string' },
  'read-token': { type: 'string' },
  protect: { type: 'boolean', default: false },
  'fail-rate': { type: 'string' },
  drain: { type: 'string', default: '0' },
  'log-format': { type: 'string', default: 'text' },
  quiet: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false },
  help: HELP_FLAG,
} as const satisfies Flags

export const KEYGEN_FLAGS = {
  'client-id': { type: 'string', default: 'local-app' },
  'key-id': { type: 'string', default: 'local-key' },
  help: HELP_FLAG,
} as const satisfies Flags

export const CHECK_FLAGS = {
  plan: { type: 'string' },
  store: { type: 'string' },
  search: { type: 'string' },
  help: HELP_FLAG,
} as const satisfies Flags

export const HEALTHCHECK_FLAGS = {
  port: COLLECTOR_FLAGS.port,
  host: COLLECTOR_FLAGS.host,
  help: HELP_FLAG,
} as const satisfies Flags
