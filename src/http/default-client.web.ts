import type { OwnHTTPClient } from './client.ts'
import { FetchHTTPClient } from './fetch-client.ts'

/** Makes the HTTP client for settings without `httpClient` on edge runtimes, which all have `fetch`. */
export function defaultClient(): OwnHTTPClient {
  return new FetchHTTPClient()
}
