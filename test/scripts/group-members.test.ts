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

test('members of a class are in the order of their groups, and type parameters are last', () => {
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

test('a member in no group is an error', () => {
  expect(() => groupMembers(page, { Calls: ['track'] })).toThrow('stats, [asyncDispose]')
})
