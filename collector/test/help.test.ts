import { expect, test } from 'vitest'
import { helpFor } from '../src/help.ts'
import { REASONS } from '../src/record.ts'

test('every reason that loses an event is an error; a duplicate loses no event', () => {
  const harmless = Object.keys(REASONS).filter((reason) => helpFor(reason).severity !== 'error')

  expect(harmless).toEqual(['duplicate'])
})

test('a request to an address that does not exist has a remedy', () => {
  expect(helpFor('not_found')).toMatchObject({
    remedy: expect.stringContaining('/v1/batch'),
    severity: 'error',
  })
})
