import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'
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
  gzipped: Buffer
  etag: string
}

export class PageAssets {
  readonly #folder: URL
  #assets: ReadonlyMap<string, Asset> | undefined

  /**
   * @param folder Default: the folder of the built page. `../dist` leads there from `src`, and also from the build in `dist`.
   */
  constructor(folder = new URL('../dist/page/', import.meta.url)) {
    this.#folder = folder
  }

  /** Returns false if no file has this name. */
  serve(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    this.#assets ??= readAssets(this.#folder)
    const asset = this.#assets.get(path)
    if (asset === undefined) return false
    const headers = {
      ...SECURITY_HEADERS,
      // The browser must ask each time, so that a new collector never runs with an old page.
      'cache-control': 'no-cache',
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      vary: 'Accept-Encoding',
      etag: asset.etag,
    }
    if (request.headers['if-none-match'] === asset.etag) {
      response.writeHead(304, headers).end()
      return true
    }
    const isGzipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
    const body = isGzipped ? asset.gzipped : asset.body
    response.writeHead(200, {
      ...headers,
      ...(isGzipped && { 'content-encoding': 'gzip' }),
      'content-type': asset.type,
      'content-length': body.length,
    })
    response.end(request.method === 'HEAD' ? undefined : body)
    return true
  }
}

function readAssets(folder: URL): Map<string, Asset> {
  const assets = new Map<string, Asset>()
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const body = readFileSync(new URL(name, folder))
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    assets.set(name === 'index.html' ? '/' : `/${name}`, { type, body, gzipped: gzipSync(body), etag })
  }
  return assets
}
