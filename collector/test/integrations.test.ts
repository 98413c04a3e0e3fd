import { expect, test } from 'vitest'
import table from '../../test/support/integrations-table.json' with { type: 'json' }
import { isSwitchedOn } from '../src/destinations/select.ts'

// The tests of the SDK use the same table: SDK and collector select destinations by the same rule.
test.each(table)('integrations with $case: the destination is on: $isOn', ({ integrations, isOn }) => {
  expect(isSwitchedOn([integrations], ['Mixpanel', 'Mixpanel (Actions)', 'Mixpanel (Legacy)'])).toBe(isOn)
})
