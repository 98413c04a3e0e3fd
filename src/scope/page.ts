import type { Client, ReadHeader } from './forwarded.ts'
import type { RawRequest } from './raw-request.ts'

export interface Page {
  url?: string
  path?: string
  referrer?: string
  search?: string
}

/** Characters of each part. A message may have 32 KiB, which a client must not be able to use up. */
const MAX_LENGTH = 2_048
/** Servers do not accept longer request targets. */
const MAX_TARGET = 16_384
const HOST = /^(?:[\w.-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

export function readPage(raw: RawRequest, header: ReadHeader, client: Client): Page | undefined {
  const page: Page = {}
  const target = readTarget(raw, header, client)
  if (target !== undefined) {
    const { href, pathname, search, isHostKnown } = target
    if (isHostKnown) page.url = href.slice(0, MAX_LENGTH)
    page.path = pathname.slice(0, MAX_LENGTH)
    if (search !== '') page.search = search.slice(0, MAX_LENGTH)
  }
  const referrer = readReferrer(header('referer'))
  if (referrer !== undefined) page.referrer = referrer
  return Object.keys(page).length === 0 ? undefined : page
}

interface Target {
  readonly href: string
  readonly pathname: string
  readonly search: string
  readonly isHostKnown: boolean
}

function readTarget(raw: RawRequest, header: ReadHeader, client: Client): Target | undefined {
  const given = raw.originalUrl ?? raw.url
  const text = typeof given === 'string' ? (given.slice(0, MAX_TARGET).split('#', 1)[0] as string) : ''
  // The target is not resolved against a base URL, because `//other.example` in a request line is a path.
  const isPath = text.startsWith('/')
  const absolute = isPath ? undefined : parse(text)
  if (!isPath && absolute === undefined) return undefined
  const path = absolute === undefined ? text : absolute.pathname + absolute.search
  // In `node:http`, the URL is absolute if the client took this server for a proxy. The host is still read from the header.
  const isFetch = raw.socket === undefined && absolute !== undefined
  const own = isFetch
    ? { protocol: absolute.protocol.slice(0, -1), host: absolute.host }
    : {
        protocol: raw.socket?.encrypted === true ? 'https' : 'http',
        // HTTP/2 has the pseudo-header `:authority` instead of `Host`.
        host: header('host') ?? header(':authority'),
      }
  const protocol = isWeb(client.protocol) ? client.protocol : own.protocol
  const host = client.host !== undefined && HOST.test(client.host) ? client.host : own.host
  const whole = host !== undefined && HOST.test(host) ? parse(`${protocol}://${host}${path}`) : undefined
  const url = whole ?? parse(`http://unknown${path}`)
  if (url === undefined) return undefined
  const { href, pathname, search } = url
  return { href, pathname, search, isHostKnown: whole !== undefined }
}

function isWeb(protocol: string | undefined): boolean {
  return protocol === 'http' || protocol === 'https'
}

function readReferrer(text: string | undefined): string | undefined {
  const url = text === undefined ? undefined : parse(text.slice(0, MAX_TARGET))
  if (url === undefined) return undefined
  url.username = ''
  url.password = ''
  url.hash = ''
  return url.href.slice(0, MAX_LENGTH)
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
