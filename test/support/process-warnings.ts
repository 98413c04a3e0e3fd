import { afterEach, beforeEach, vi } from 'vitest'

/**
 * Makes each test of the file collect process warnings instead of printing them. Restores all mocks after each test.
 *
 * @returns The texts of the warnings in the running test.
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
