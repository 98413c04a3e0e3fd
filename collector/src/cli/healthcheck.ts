import { get } from 'node:http'
import { isIPv6 } from 'node:net'
import { withoutBrackets } from '../network-address.ts'

const LIMIT_MS = 4000
const ADVICE = 'is the collector running, and are --host and --port the ones that it was started with?'

/** The address of a collector on this machine. If it listens on all interfaces, that is the loopback address. */
export function localUrl(given: string, port: number): string {
  const host = withoutBrackets(given)
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
}

/**
 * For containers without `curl`.
 *
 * @param given The address on which the collector listens. If it listens on all interfaces, the loopback address is used.
 * @returns The response, or the reason why there is none.
 */
export function askReadiness(given: string, port: number): Promise<{ isReady: boolean; says: string }> {
  const url = `${localUrl(given, port)}/readyz`
  const silent = (cause: Error) => `${url} does not respond (${whatFailed(cause)}): ${ADVICE}`
  return new Promise((resolve) => {
    const request = get(url, { timeout: LIMIT_MS }, (response) => {
      let says = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        says += chunk
      })
      response.on('end', () => resolve({ isReady: response.statusCode === 200, says }))
      response.on('error', (cause) => resolve({ isReady: false, says: silent(cause) }))
    })
    request.on('timeout', () => request.destroy(new Error(`no response within ${LIMIT_MS} ms`)))
    request.on('error', (cause) => resolve({ isReady: false, says: silent(cause) }))
  })
}

/** If a name has several addresses, Node.js throws an AggregateError with an empty message. */
function whatFailed({ message, ...cause }: Error & { code?: string }): string {
  return message || (cause.code ?? 'no connection')
}
