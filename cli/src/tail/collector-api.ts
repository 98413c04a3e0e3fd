import { CommandError, UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'

/** One event in a list of the collector. @see collector/docs/api.md */
export interface EventSummary {
  readonly id: string
  readonly receivedAt: string
  readonly source: string | null
  readonly status: 'accepted' | 'rejected'
  readonly reason: string | null
  readonly type: string | null
  readonly name: string | null
  readonly userId: string | null
  readonly anonymousId: string | null
  readonly preview?: readonly { path: string; value: unknown }[]
  readonly destinations?: readonly { name: string; state: string; reason: string | null }[]
}

export interface EventPage {
  readonly events: readonly EventSummary[]
  readonly next: string | null
  readonly head: string
}

/** Where the list of events is now. */
export interface News {
  readonly head: string
  /** Decreases when another collector with other events now answers at this address. */
  readonly lastSeq: number
  /** Changes when all events have been deleted. */
  readonly epoch: number
}

/** The connection was lost, or the collector is temporarily unavailable. A repeated request may succeed. */
export class LostError extends Error {
  override name = 'LostError'
}

/** The collector requires another admin token, or any. */
export class TokenError extends CommandError {}

const REQUEST_TIMEOUT_MS = 10_000

export class CollectorApi {
  readonly #base: URL
  readonly #headers: Record<string, string>

  constructor(base: URL, adminToken: string | undefined) {
    this.#base = base
    this.#headers = adminToken === undefined ? {} : { authorization: `Bearer ${adminToken}` }
  }

  /** @throws LostError when the request may succeed later, CommandError when it never will. */
  events(query: Record<string, string | undefined>, signal: AbortSignal): Promise<EventPage> {
    return this.#get('api/events', query, signal) as Promise<EventPage>
  }

  /** @throws like {@link events}, and CommandError when no collector answers at this address. */
  about(signal: AbortSignal): Promise<{ readonly version?: string }> {
    return this.#get('api/about', {}, signal) as Promise<{ version?: string }>
  }

  stats(signal: AbortSignal): Promise<News> {
    return this.#get('api/stats', {}, signal) as Promise<News>
  }

  async #get(path: string, query: Record<string, string | undefined>, signal: AbortSignal): Promise<unknown> {
    // Node.js 18 has no `AbortSignal.any`.
    const ended = new AbortController()
    const end = (): void => ended.abort()
    signal.addEventListener('abort', end)
    const timer = setTimeout(end, REQUEST_TIMEOUT_MS)
    try {
      return await (await this.#fetch(path, query, ended.signal)).json()
    } catch (error) {
      const isLate = ended.signal.aborted && !signal.aborted
      throw isLate ? new LostError('the collector does not respond') : lost(error)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
    }
  }

  async #fetch(
    path: string,
    query: Record<string, string | undefined>,
    signal: AbortSignal,
  ): Promise<Response> {
    const url = new URL(path, this.#base)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, value)
    // A redirect could send the admin token to another host.
    const response = await fetch(url, { headers: this.#headers, signal, redirect: 'manual' }).catch(
      (error) => {
        if (isBadPort(error))
          throw new UsageError(
            `port ${url.port} is one that HTTP clients refuse: use another port for the collector`,
          )
        if (isNotTls(error))
          throw new UsageError(
            `${url.host} does not speak TLS: write http:// if the collector has no TLS, or the port where it speaks https`,
          )
        throw error
      },
    )
    if (response.ok) return response
    const text = await response.text()
    const { message, position, length } = problemIn(text)
    if (response.status === 429 || response.status >= 500)
      throw new LostError(
        `it responds with ${response.status}${message === undefined ? '' : ` (${message})`}`,
      )
    if (response.status === 401) throw new TokenError(this.#tokenProblem(url))
    if (response.status === 400 && query['q'] !== undefined && message !== undefined) {
      if (position === undefined) throw new UsageError(`search: ${message}`)
      const mark = `${' '.repeat(position)}${'^'.repeat(Math.max(1, length ?? 1))}`
      throw new UsageError(`search: ${message}\n  ${printable(query['q'])}\n  ${mark}`)
    }
    if (message !== undefined) throw new CommandError(`${url.host}: ${message}`)
    throw new CommandError(`${url.host} is not a collector: ${url.pathname} has status ${response.status}`)
  }

  #tokenProblem(url: URL): string {
    const isGiven = this.#headers['authorization'] !== undefined
    return isGiven
      ? `${url.host} refuses the admin token: compare it with the one that the collector was started with`
      : `${url.host} asks for an admin token: set TRACKPOST_ADMIN_TOKEN, or use --admin-token-file`
  }
}

/** Whether the Fetch standard blocks the port because another protocol uses it. A retry would never help. */
function isBadPort(error: unknown): boolean {
  return (error as { cause?: Error }).cause?.message === 'bad port'
}

/** Whether the answer to the greeting of TLS was none of TLS, such as plain HTTP. A retry would never help. */
function isNotTls(error: unknown): boolean {
  const { code = '', message = '' } = (error as { cause?: NodeJS.ErrnoException }).cause ?? {}
  return (
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code) ||
    /wrong version number|packet length too long/.test(message)
  )
}

function lost(error: unknown): Error {
  if (error instanceof CommandError || error instanceof LostError) return error
  const { cause, message } = error as Error & { cause?: NodeJS.ErrnoException }
  return new LostError(cause?.code ?? cause?.message ?? message)
}

interface Problem {
  readonly message?: string | undefined
  readonly position?: number
  readonly length?: number
}

function problemIn(text: string): Problem {
  try {
    const problem: Problem | null = JSON.parse(text)
    return {
      ...problem,
      message: typeof problem?.message === 'string' ? printable(problem.message) : undefined,
    }
  } catch {
    // The response is not from a collector, but perhaps from a proxy.
    return {}
  }
}
