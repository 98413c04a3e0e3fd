import { openDestination, readDestination } from './destinations/open.ts'
import { startOpsServer } from './ops-server.ts'
import { type ConnectionParts, StreamConnection } from './stream/connection.ts'
import { Worker } from './worker.ts'

export interface WorkParts extends Omit<ConnectionParts, 'needsDestination'> {
  /** The URL of the destination. */
  to: string
  /** Its name in `integrations`, in metrics and, in small letters, of its consumer. The scheme of the URL decides by default. */
  name?: string | undefined
  /** Further headers of a webhook. */
  headers?: Readonly<Record<string, string>>
  /** Whether to write the dead letters of the destination, once, instead of the events of the stream. */
  fromDeadLetters?: boolean
  /** For `/healthz`, `/readyz` and `/metrics`. */
  port: number
  host: string
}

export interface Work {
  readonly port: number
  /** Resolves when the work is closed, or when all dead letters were tried. */
  readonly ended: Promise<unknown>
  close(): Promise<void>
}

/**
 * Starts a worker of one destination.
 *
 * @throws ConfigError when an address cannot be used.
 */
export async function startWork(parts: WorkParts): Promise<Work> {
  const { address, settings, credentials, onFault, port, host, fromDeadLetters = false } = parts
  const { url, name } = readDestination(parts.to)
  const destination = await openDestination(url, parts.headers ?? {})
  const stream = new StreamConnection({ address, settings, credentials, onFault })
  const worker = new Worker({ stream, destination, name: parts.name ?? name, fromDeadLetters, onFault })
  const close = async () => {
    await worker.close()
    await stream.close()
    await destination.close()
  }
  try {
    const ops = await startOpsServer({
      port,
      host,
      whyNotReady: () => worker.reason,
      metrics: () => worker.metrics(),
    })
    return {
      port: ops.port,
      ended: worker.run(),
      async close() {
        await close()
        ops.close()
      },
    }
  } catch (cause) {
    await close()
    throw cause
  }
}
