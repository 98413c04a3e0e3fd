/** `process` is read from `globalThis`, because some edge runtimes have none. */
type ProcessLike = {
  pid?: number
  env?: Record<string, string | undefined>
  versions?: Record<string, string | undefined>
  emitWarning?: (message: string, options: { type: string; code: string }) => void
  nextTick?: (run: () => void) => void
  on?: (event: 'beforeExit' | 'exit', listener: () => void) => unknown
  _exiting?: boolean
}

export const runtimeProcess: ProcessLike | undefined = (globalThis as { process?: ProcessLike }).process

export type JsRuntime = 'node' | 'bun' | 'deno' | 'cloudflare-worker' | 'vercel-edge' | 'browser' | 'unknown'

/** The `_metadata` of every message. */
export interface RuntimeMetadata {
  /** The version of Node.js, or the version with which the runtime claims to be compatible; without a leading `v`. */
  nodeVersion?: string
  jsRuntime: JsRuntime
}

export function detectRuntime(): RuntimeMetadata {
  const nodeVersion = runtimeProcess?.versions?.['node']
  const jsRuntime = nameRuntime()
  return nodeVersion === undefined ? { jsRuntime } : { nodeVersion, jsRuntime }
}

function nameRuntime(): JsRuntime {
  const scope = globalThis as Record<string, unknown>
  const versions = runtimeProcess?.versions
  // The order matters: Bun, Deno and workerd (Cloudflare Workers) also have a `process` with a Node.js version.
  if (versions?.['bun'] !== undefined) return 'bun'
  if (scope['Deno'] !== undefined) return 'deno'
  if ((scope['navigator'] as { userAgent?: string } | undefined)?.userAgent === 'Cloudflare-Workers') {
    return 'cloudflare-worker'
  }
  if (scope['EdgeRuntime'] !== undefined) return 'vercel-edge'
  if (versions?.['node'] !== undefined) return 'node'
  if (scope['document'] !== undefined) return 'browser'
  return 'unknown'
}
