import { FetchHTTPClient, type OwnHTTPClient } from './client.ts'

/** The client to use when the user gives none. On edge runtimes: they all have `fetch`. */
export function defaultClient(): OwnHTTPClient {
  return new FetchHTTPClient()
}
