import { expect, test } from 'vitest'
import { helpFor } from '../src/help.ts'
import { REASONS } from '../src/record.ts'

test('every reason that loses an event is an error; a duplicate loses no event', () => {
  const harmless = Object.keys(REASONS).filter((reason) => helpFor(reason).severity !== 'error')

  expect(harmless).toEqual(['duplicate'])
})

test('for a single event that is too large, the advice is not only to send smaller batches', () => {
  const { meaning, remedy } = helpFor('body_too_large')

  expect(meaning).toContain('32,768 for a single event')
  expect(remedy).toContain('a single event')
})
