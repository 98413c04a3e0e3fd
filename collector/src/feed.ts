import { ConfigError } from './config/config-error.ts'
import type { NewEvent } from './new-event.ts'
import { version } from './version.ts'

/** What a feed calls. */
export interface FeedParts {
  /**
   * Stores events that a front has judged. Resolves when they are stored; a repeat of a stored event changes nothing but counts, so
   * a feed may deliver an event more than once. Rejects when the store cannot write: the feed then delivers the events again later.
   */
  append(events: readonly NewEvent[]): Promise<void>
  onFault(what: string, cause: unknown): void
}

/** A source of events beside the HTTP API: a stream of another process. */
export interface Feed {
  /** Where the events come from, without credentials. */
  readonly address: string
  /** Resolves when no further `append` is called. */
  close(): Promise<void>
}

/** The exports of `trackpost-cluster` that a collector uses. */
export interface ClusterModule {
  readonly version: string
  /** @throws an error whose message says what to write when the address cannot be used. */
  openFeed(address: string, parts: FeedParts): Promise<Feed>
}

/**
 * Opens a stream of events, with the package that knows streams. A collector without `log` does not need it.
 *
 * @throws ConfigError when the package is missing, of another version, or refuses the address.
 */
export async function openFeed(address: string, parts: FeedParts): Promise<Feed> {
  const cluster = await importCluster()
  if (cluster.version !== version) {
    throw new ConfigError(
      `log: needs trackpost-cluster ${version}, not ${cluster.version}: npm install trackpost-cluster@${version}`,
    )
  }
  try {
    return await cluster.openFeed(address, parts)
  } catch (cause) {
    throw new ConfigError(`log: ${(cause as Error).message}`)
  }
}

async function importCluster(): Promise<ClusterModule> {
  try {
    return await import('trackpost-cluster')
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes("'trackpost-cluster'")) throw cause
    throw new ConfigError(`log: needs another package: npm install trackpost-cluster@${version}`)
  }
}
