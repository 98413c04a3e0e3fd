import { expect, test } from 'vitest'
import table from '../../test/support/integrations-table.json' with { type: 'json' }
import { isSwitchedOn } from '../src/destinations/select.ts'

// The client is held to the same table: both halves select destinations by one rule.
test.each(table)('$case: $isOn', ({ integrations, isOn }) => {
  expect(isSwitchedOn([integrations], ['Mixpanel', 'Mixpanel (Actions)', 'Mixpanel (Legacy)'])).toBe(isOn)
})
