import { expect, test } from 'vitest'
import table from '../../test/support/integrations-table.json' with { type: 'json' }
import { isSwitchedOn } from '../src/destinations/select.ts'

// The tests of the client use the same table: client and collector select destinations by the same rule.
test.each(table)('$case: $isOn', ({ integrations, isOn }) => {
  expect(isSwitchedOn([integrations], ['Mixpanel', 'Mixpanel (Actions)', 'Mixpanel (Legacy)'])).toBe(isOn)
})
