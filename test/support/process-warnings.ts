import { afterEach, beforeEach, vi } from 'vitest'

/**
 * Catches the process warnings of each test of a file in place of printing them, and puts all mocks back after it.
 *
 * @returns The texts of those of the test that runs.
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
