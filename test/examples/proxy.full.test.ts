import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { examplePath, runNode, WRITE_KEY } from './run-node.ts'

interface Proxy {
  readonly url: string
  /** The hosts and ports of the tunnels that clients asked for. */
  readonly targets: string[]
  close(): void
}

let receiver: Receiver
let proxy: Proxy

beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
  proxy = await startProxy(Number(new URL(receiver.url).port))
})
afterEach(async () => {
  proxy.close()
  await receiver.close()
})

/** Starts a proxy that connects every tunnel to the receiver, for any host name. */
async function startProxy(port: number): Promise<Proxy> {
  const targets: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((_, response) => response.writeHead(405).end())
  server.on('connect', (request, client: Socket, head) => {
    targets.push(request.url ?? '')
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    targets,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test('the events are sent through the proxy, to a host that only the proxy can reach', async () => {
  const exit = await runNode([examplePath('proxy.mjs')], {
    TRACKPOST_WRITE_KEY: WRITE_KEY,
    PROXY_URL: proxy.url,
    TRACKPOST_HOST: 'http://tracking-service',
  })

  expect(exit).toEqual({ code: 0, signal: null, stdout: 'delivered: 1, failed: 0\n', stderr: '' })
  expect(proxy.targets).toEqual(['tracking-service:80'])
  expect(receiver.events).toMatchObject([{ type: 'track', userId: 'user-1042', event: 'Report Exported' }])
})
