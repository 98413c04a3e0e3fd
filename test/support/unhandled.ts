import { afterEach, beforeEach, expect } from 'vitest'
import { settled } from './fake-clock.ts'

/** Makes each test of the file fail on an unhandled rejection, which would end a user's process. */
export function failOnUnhandledRejections(): void {
  const unhandled: unknown[] = []
  const onUnhandled = (reason: unknown): void => {
    unhandled.push(reason)
  }
  beforeEach(() => {
    unhandled.length = 0
    process.on('unhandledRejection', onUnhandled)
  })
  afterEach(async () => {
    await settled()
    process.off('unhandledRejection', onUnhandled)
    expect(unhandled).toEqual([])
  })
}
