import { afterEach, beforeEach, vi } from 'vitest'

/**
 * Collects the process warnings of each test of a file instead of printing them, and restores all mocks after
 * it.
 *
 * @returns The texts of the warnings of the present test.
 */
export function catchProcessWarnings(): string[] {
  const warned: string[] = []
  beforeEach(() => {
    warned.length = 0
    vi.spyOn(process, 'emitWarning').mockImplementation((message) => {
      warned.push(String(message))
    })
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })
  return warned
}
