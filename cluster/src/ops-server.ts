import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface OpsParts {
  port: number
  host: string
  whyNotReady(): string | null
  metrics(): Promise<string>
}

export interface OpsServer {
  readonly port: number
  close(): void
}

/** Serves `/healthz`, `/readyz` and `/metrics`, which have no data of events. */
export async function startOpsServer({ port, host, whyNotReady, metrics }: OpsParts): Promise<OpsServer> {
  const answer = async (path: string | undefined, response: ServerResponse): Promise<void> => {
    if (path === '/metrics') return reply(response, 200, 'text/plain; version=0.0.4', await metrics())
    if (path === '/healthz') return reply(response, 200, 'application/json', '{"status":"ok"}')
    if (path !== '/readyz') return reply(response, 404, 'application/json', '{"status":"not_found"}')
    const reason = whyNotReady()
    const status = reason === null ? { status: 'ready' } : { status: 'not_ready', reason }
    return reply(response, reason === null ? 200 : 503, 'application/json', JSON.stringify(status))
  }
  const server = createServer((request, response) => void answer(request.url?.split('?')[0], response))
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function reply(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
}
