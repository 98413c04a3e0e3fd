import { expect, test } from 'vitest'
import { isSwitchedOn } from '../../src/pipeline/registration.ts'
import table from '../support/integrations-table.json' with { type: 'json' }

const NAMES = ['Mixpanel', 'Mixpanel (Actions)', 'Mixpanel (Legacy)']

// Tests of the collector use the same table, because the SDK and the collector select destinations by the same rule.
test.each(table)('$case: $isOn', ({ integrations, isOn }) => {
  expect(isSwitchedOn(integrations, NAMES)).toBe(isOn)
})

test.each([undefined, null])('without integrations (%s) every destination is on', (nothing) => {
  expect(isSwitchedOn(nothing, NAMES)).toBe(true)
})

test('inherited properties turn no destination on or off', () => {
  expect(isSwitchedOn({ All: false }, ['toString'])).toBe(false)
  expect(isSwitchedOn({}, ['constructor'])).toBe(true)
})
