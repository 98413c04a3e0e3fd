import { expect, test } from 'vitest'
import { groupMembers } from '../../scripts/group-members.mjs'

const page = `# Class: Client

It sends.

## Type Parameters

### Events

## Constructors

### Constructor

## Accessors

### stats

Counts.

***

## Methods

### \\[asyncDispose\\]()

Closes.

***

### track()

Tracks.
`

test('the members of a class are put into the order of the groups, and type parameters come last', () => {
  const grouped = groupMembers(page, { Calls: ['track', 'gone'], State: ['stats'], End: ['[asyncDispose]'] })

  expect(grouped.match(/^##+ .*$/gm)).toEqual([
    '## Constructors',
    '### Constructor',
    '## Calls',
    '### track()',
    '## State',
    '### stats',
    '## End',
    '### \\[asyncDispose\\]()',
    '## Type Parameters',
    '### Events',
  ])
  expect(grouped).toContain('Counts.')
})

test('a member that no group lists is an error', () => {
  expect(() => groupMembers(page, { Calls: ['track'] })).toThrow('stats, [asyncDispose]')
})
