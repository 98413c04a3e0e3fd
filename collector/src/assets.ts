import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname } from 'node:path'
import { SECURITY_HEADERS } from './http/reply.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

interface Asset {
  type: string
  body: Buffer
}

export class PageAssets {
  #assets: ReadonlyMap<string, Asset> | undefined

  /** Returns false if no file has this name. */
  serve(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    this.#assets ??= readAssets()
    const asset = this.#assets.get(path)
    if (asset === undefined) return false
    const headers = {
      ...SECURITY_HEADERS,
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      'content-type': asset.type,
      'content-length': asset.body.length,
    }
    response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : asset.body)
    return true
  }
}

/** `../dist` leads to the built page from `src`, and also from the build in `dist`. */
function readAssets(): Map<string, Asset> {
  const folder = new URL('../dist/page/', import.meta.url)
  const assets = new Map<string, Asset>()
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    assets.set(name === 'index.html' ? '/' : `/${name}`, { type, body: readFileSync(new URL(name, folder)) })
  }
  return assets
}
