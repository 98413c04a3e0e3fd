import type { OwnHTTPClient } from './client.ts'
import { FetchHTTPClient } from './fetch-client.ts'

/** For edge runtimes, which all have `fetch`. */
export function defaultClient(): OwnHTTPClient {
  return new FetchHTTPClient()
}
