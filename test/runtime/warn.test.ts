import { afterEach, describe, expect, test, vi } from 'vitest'
import { warn } from '../../src/runtime/warn.ts'

describe('warnings', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
    vi.resetModules()
  })

  test('go to process.emitWarning with a type and a code', () => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})

    warn('queue_full', 'la file est pleine')

    expect(emitWarning).toHaveBeenCalledExactlyOnceWith('la file est pleine', {
      type: 'TrackpostWarning',
      code: 'TRACKPOST_QUEUE_FULL',
    })
  })

  test('go to console.warn without a process', async () => {
    const consoleWarn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    vi.stubGlobal('process', undefined)
    vi.resetModules()
    const { warn } = await import('../../src/runtime/warn.ts')

    warn('queue_full', 'la file est pleine')

    expect(consoleWarn).toHaveBeenCalledExactlyOnceWith('trackpost: la file est pleine')
  })

  test.each([
    ['prints nothing, on Cloudflare Workers with nodejs_compat', 'Cloudflare-Workers', () => {}],
    [
      'throws, in edge functions of Next.js',
      'Next.js',
      () => {
        throw new Error('A Node.js API is used (process.emitWarning)')
      },
    ],
  ])('go to console.warn where process.emitWarning %s', (_, userAgent, emitWarning) => {
    const consoleWarn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    vi.spyOn(process, 'emitWarning').mockImplementation(emitWarning)
    vi.stubGlobal('navigator', { userAgent })

    warn('queue_full', 'la file est pleine')

    expect(consoleWarn).toHaveBeenCalledExactlyOnceWith('trackpost: la file est pleine')
  })

  test('do no harm when console.warn throws as well', () => {
    for (const channel of [vi.spyOn(process, 'emitWarning'), vi.spyOn(console, 'warn')]) {
      channel.mockImplementation(() => {
        throw new Error('non')
      })
    }

    expect(() => warn('queue_full', 'la file est pleine')).not.toThrow()
  })
})
