import { afterEach, describe, expect, test, vi } from 'vitest'
import type { RuntimeMetadata } from '../../src/runtime/detect.ts'

async function detectWith(globals: Record<string, unknown>): Promise<RuntimeMetadata> {
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
  vi.resetModules()
  const { detectRuntime } = await import('../../src/runtime/detect.ts')
  return detectRuntime()
}

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

const node = { versions: { node: '20.20.2' } }

describe('the runtime', () => {
  test.each([
    ['Node.js', { process: node, navigator: { userAgent: 'Node.js/21' } }, 'node'],
    ['Bun', { process: { versions: { node: '20.20.2', bun: '1.1.0' } } }, 'bun'],
    ['Deno', { process: node, Deno: { version: {} } }, 'deno'],
    [
      'a Cloudflare worker',
      { process: node, navigator: { userAgent: 'Cloudflare-Workers' } },
      'cloudflare-worker',
    ],
    ['Vercel Edge', { process: node, EdgeRuntime: 'edge-runtime' }, 'vercel-edge'],
  ])('%s is recognized where process.versions has a Node.js version', async (_label, globals, jsRuntime) => {
    expect(await detectWith(globals)).toEqual({ nodeVersion: '20.20.2', jsRuntime })
  })

  test.each([
    ['a Cloudflare worker', { navigator: { userAgent: 'Cloudflare-Workers' } }, 'cloudflare-worker'],
    ['Vercel Edge', { EdgeRuntime: 'edge-runtime', process: { env: {} } }, 'vercel-edge'],
    ['a browser', { document: {}, navigator: { userAgent: 'Mozilla/5.0' } }, 'browser'],
    ['something else', {}, 'unknown'],
  ])('%s is recognized without a Node.js version', async (_label, globals, jsRuntime) => {
    const metadata = await detectWith({ process: undefined, ...globals })

    expect(metadata).toEqual({ jsRuntime })
    expect('nodeVersion' in metadata).toBe(false)
  })
})
