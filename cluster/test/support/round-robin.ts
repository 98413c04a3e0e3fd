import { createServer, type IncomingMessage } from 'node:http'
import { onTestFinished } from 'vitest'

/** A proxy that sends each request to the next of several servers. */
export interface RoundRobin {
  readonly url: string
  /** Base addresses of the servers; can be changed at any time. */
  servers: string[]
  /** The requests with their servers, oldest first. */
  readonly requests: Array<{ path: string; server: string; status: number }>
}

export async function startRoundRobin(): Promise<RoundRobin> {
  const proxy = { url: '', servers: [] as string[], requests: [] as RoundRobin['requests'] }
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    const target = proxy.servers.shift() ?? ''
    proxy.servers.push(target)
    try {
      const { status, headers, body } = await forward(target, path, request)
      proxy.requests.push({ path, server: target, status })
      response.writeHead(status, headers).end(body)
    } catch {
      proxy.requests.push({ path, server: target, status: 502 })
      response.writeHead(502).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  proxy.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return proxy
}

async function forward(target: string, path: string, request: IncomingMessage) {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { authorization = '', 'content-type': type = '', 'content-encoding': encoding = '' } = request.headers
  const given = { authorization, 'content-type': type, 'content-encoding': encoding }
  const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''))
  const hasBody = chunks.length > 0
  const response = await fetch(`${target}${path}`, {
    method: request.method ?? 'GET',
    headers,
    ...(hasBody && { body: Buffer.concat(chunks) }),
  })
  const kept = [...response.headers].filter(([name]) =>
    /^(content-type|retry-after|x-ratelimit-reset)$/.test(name),
  )
  return {
    status: response.status,
    headers: Object.fromEntries(kept),
    body: Buffer.from(await response.arrayBuffer()),
  }
}
