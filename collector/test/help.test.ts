import { expect, test } from 'vitest'
import { helpFor } from '../src/help.ts'
import { REASONS } from '../src/record.ts'

test('whatever costs an event is an error; a duplicate costs none', () => {
  const harmless = Object.keys(REASONS).filter((reason) => helpFor(reason).severity !== 'error')

  // An item that was refused with its batch comes again as soon as the other one is mended.
  expect(harmless).toEqual(['duplicate', 'batch_refused'])
})

test('C9: an event that is too large by itself is not told to be sent in smaller batches alone', () => {
  const { meaning, remedy } = helpFor('body_too_large')

  expect(meaning).toContain('32,768 for a single event')
  expect(remedy).toContain('an event that comes alone')
})
