import { describe, expect, test } from 'vitest'
import { describeThrown } from '../../src/errors/thrown.ts'
import { redactor } from '../../src/http/redact.ts'

const redact = redactor(['geheimer-schluessel'])

function withStack(...frames: string[]): Error {
  const error = new Error('boom')
  Object.defineProperty(error, 'stack', { value: ['Error: boom', ...frames].join('\n') })
  return error
}

const own = new URL('../../src/', import.meta.url).pathname

describe('what user code threw', () => {
  test('is described by its message and the line that threw it', () => {
    expect(describeThrown(new Error('boom'), redact)).toMatch(/^boom \(at \S*thrown\.test\.ts:\d+:\d+\)$/)
  })

  test('the place is the first one outside of the package and of the runtime', () => {
    const error = withStack(
      '    at emit (node:events:517:28)',
      `    at guard (${own}errors/guard.ts:1:2)`,
      `    at file://${own}events/emitter.ts:3:4`,
      '    at async Promise.all (index 0)',
      '    at onError (/app/my shop/shop.js:12:7)',
      '    at later (/app/main.js:1:1)',
    )

    expect(describeThrown(error, redact)).toBe('boom (at /app/my shop/shop.js:12:7)')
  })

  test.each([
    ['    at /app/shop.js:12:7', '/app/shop.js:12:7'],
    ['    at async file:///app/shop.mjs:12:7', '/app/shop.mjs:12:7'],
    ['    at Object.<anonymous> (C:\\app\\shop.js:12:7)', 'C:\\app\\shop.js:12:7'],
  ])('the frame %j has a place', (frame, place) => {
    expect(describeThrown(withStack(frame), redact)).toBe(`boom (at ${place})`)
  })

  test('secrets of the client are redacted, and line breaks are spaces', () => {
    const error = withStack()
    error.message = 'refused:\n geheimer-schluessel'

    expect(describeThrown(error, redact)).toBe('refused: [redacted]')
  })

  const throwing = {
    get stack() {
      throw new Error('non')
    },
  }
  test.each<[string, unknown, string]>([
    ['text', 'boom', 'boom'],
    ['undefined', undefined, 'unknown error'],
    ['null', null, 'unknown error'],
    ['an object', {}, 'unknown error'],
    ['a stack that is no text', { stack: 5 }, 'unknown error'],
    ['a stack that throws', throwing, 'unknown error'],
  ])('%s has no place', (_label, thrown, text) => {
    expect(describeThrown(thrown, redact)).toBe(text)
  })
})
