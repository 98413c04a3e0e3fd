import type { IncomingMessage, ServerResponse } from 'node:http'
import { HttpProblem, replyJson, SECURITY_HEADERS } from '../http/reply.ts'
import type { SharedLog } from '../log/ports.ts'
import { logState } from '../log/state.ts'
import type { About } from './api.ts'

const WHERE =
  'This process is a front: it takes events in and writes them into the log, and keeps none of them. ' +
  'Look at a process that has the store: a worker, or a front that was started with --store.'

/** What a front without a store can tell: what it is, how the log is, and where to look for the rest. */
export async function handleFront(
  log: SharedLog,
  about: About,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (url.pathname === '/api/about') replyJson(response, 200, { ...about, message: WHERE })
  else if (url.pathname === '/api/stats') replyJson(response, 200, { log: await logState(log) })
  else if (url.pathname.startsWith('/api/')) throw new HttpProblem(404, 'no_store', WHERE)
  else return servePage(log, url.pathname, request, response)
  return true
}

async function servePage(
  log: SharedLog,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (path !== '/' || (request.method !== 'GET' && request.method !== 'HEAD')) return false
  const { isReady, reason, waiting } = await logState(log)
  const state = isReady ? `The log is ready${waitingText(waiting)}.` : `${reason}`
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Trackpost front</title>
<h1>Trackpost front</h1><p>${escaped(WHERE)}</p><p>Log: ${escaped(log.address)}. ${escaped(state)}</p></html>\n`
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  })
  response.end(request.method === 'HEAD' ? undefined : body)
  return true
}

function waitingText(waiting: number | null): string {
  if (waiting === null) return ''
  return waiting === 1 ? '; 1 message waits for a worker' : `; ${waiting} messages wait for a worker`
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
