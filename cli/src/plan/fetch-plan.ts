import { CommandError, UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'

const TIMEOUT_MS = 30_000
/** Where a collector has a plan for the events that it has received. */
const COLLECTOR_PLAN = 'api/catalogue?format=schema'

export function isAddress(plan: string): boolean {
  return /^https?:\/\//i.test(plan)
}

/**
 * Fetches a plan from a URL. An address without a path is that of a collector.
 *
 * @param adminToken Sent only to a service that asks for it.
 * @throws CommandError when there is no response within 30 s, or its status is not 2xx.
 */
export async function fetchPlan(address: string, adminToken: string | undefined): Promise<string> {
  let url: URL
  try {
    url = new URL(address)
  } catch {
    throw new UsageError(`expected a file or a URL, got ${printable(address)}`)
  }
  const isCollector = url.pathname === '/' && url.search === ''
  if (isCollector) url = new URL(COLLECTOR_PLAN, url)
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    let response = await fetch(url, { signal })
    if (response.status === 401 && adminToken !== undefined) {
      // A redirect could send the token to another host.
      const headers = { authorization: `Bearer ${adminToken}` }
      response = await fetch(url, { signal, headers, redirect: 'manual' })
    }
    if (response.ok) return await response.text()
    const hint = response.status === 401 ? ': set TRACKPOST_ADMIN_TOKEN' : ''
    throw new CommandError(`${printable(url.href)} responds with ${response.status}${hint}`)
  } catch (error) {
    if (error instanceof CommandError) throw error
    const { cause, message } = error as Error & { cause?: NodeJS.ErrnoException }
    const hint = isCollector ? '. Is there a collector? npx trackpost-collector starts one' : ''
    throw new CommandError(
      `${printable(url.href)} cannot be reached: ${cause?.code ?? cause?.message ?? message}${hint}`,
    )
  }
}
