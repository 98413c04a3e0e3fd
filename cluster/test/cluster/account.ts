/** After this many failures, clients have noticed that something is unavailable. */
const SOME_FAILURES = 8

/** The events that clients sent, and the responses. The test compares them with the store and the destination. */
export class Account {
  /** How often each messageId was sent. */
  readonly attempts = new Map<string, number>()
  /** messageIds of requests that got 200. */
  readonly answered = new Set<string>()
  outcomes = 0
  /** The number of requests that ended with an error, or with a status other than 200. */
  failures = 0

  fetch(timeoutMs: number): (url: string | URL, request: RequestInit) => Promise<Response> {
    return async (url, request) => {
      const ids = idsOf(String(request.body))
      for (const id of ids) this.attempts.set(id, (this.attempts.get(id) ?? 0) + 1)
      const limit = AbortSignal.timeout(timeoutMs)
      const signal = request.signal ? AbortSignal.any([request.signal, limit]) : limit
      let status = 0
      try {
        const response = await fetch(url, { ...request, signal })
        status = response.status
        // A client must not trust a response that is incomplete.
        const body = await response.arrayBuffer()
        if (status === 200) for (const id of ids) this.answered.add(id)
        return new Response(body, response)
      } finally {
        this.outcomes++
        if (status !== 200) this.failures++
      }
    }
  }

  /** Resolves after `count` successes or {@link SOME_FAILURES} failures; with an unavailable part, there may be no success. */
  someMore(count: number): Promise<void> {
    const successes = this.outcomes - this.failures + count
    const failures = this.failures + SOME_FAILURES
    return reached(() => this.outcomes - this.failures >= successes || this.failures >= failures)
  }

  someFailures(): Promise<void> {
    const failures = this.failures + SOME_FAILURES
    return reached(() => this.failures >= failures)
  }
}

interface Message {
  messageId?: unknown
}

function idsOf(body: string): string[] {
  const message = JSON.parse(body) as Message & { batch?: Message[] }
  return (message.batch ?? [message]).map(({ messageId }) => String(messageId))
}

export async function reached(isSo: () => boolean | Promise<boolean>, everyMs = 10): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, everyMs))
}
