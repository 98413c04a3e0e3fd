import type { OwnHTTPClient } from './client.ts'
import { FetchHTTPClient } from './fetch-client.ts'

/** The client to use when the user gives none. On edge runtimes: they all have `fetch`. */
export function defaultClient(): OwnHTTPClient {
  return new FetchHTTPClient()
}
