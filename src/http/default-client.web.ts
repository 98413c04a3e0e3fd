import type { OwnHTTPClient } from './client.ts'
import { FetchHTTPClient } from './fetch-client.ts'

/** The client to use on edge runtimes when the user gives none: they all have `fetch`. */
export function defaultClient(): OwnHTTPClient {
  return new FetchHTTPClient()
}
