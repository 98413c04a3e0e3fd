import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { SECURITY_HEADERS } from './http/reply.ts'

const FILES: Readonly<Record<string, [file: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/list.js': ['list.js', 'text/javascript; charset=utf-8'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
}

// Nothing is loaded from elsewhere, and the browser sees to it.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Answers with a file of the page; false when there is none of that name. This module lies one level below the package. */
export function servePage(path: string, response: ServerResponse): boolean {
  const entry = Object.hasOwn(FILES, path) ? FILES[path] : undefined
  if (entry === undefined) return false
  const [file, type] = entry
  const body = readFileSync(new URL(`../page/${file}`, import.meta.url))
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': type,
    'content-length': body.length,
    'content-security-policy': POLICY,
    'referrer-policy': 'no-referrer',
  })
  response.end(body)
  return true
}
