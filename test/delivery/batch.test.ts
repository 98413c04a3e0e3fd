import { describe, expect, test } from 'vitest'
import { createBatch } from '../../src/delivery/batch.ts'

describe('the time of a batch', () => {
  test('a batch that has neither failed nor been told to wait never expires', () => {
    expect(createBatch([], 0).expiresAtMs).toBe(Number.POSITIVE_INFINITY)
  })

  test('of its two ends the earlier counts', () => {
    const batch = createBatch([], 0)
    batch.limitedUntilMs = 5_000
    batch.backoffUntilMs = 3_000

    expect(batch.expiresAtMs).toBe(3_000)
  })
})
