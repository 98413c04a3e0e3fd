import { describe, expect, test } from 'vitest'
import { commandLine } from '../src/commands/context.ts'
import { cast, castTimestamp } from '../src/import/cast.ts'
import { findDelimiter } from '../src/import/csv.ts'
import { deriveMessageId } from '../src/import/message-id.ts'
import { Pace } from '../src/import/pace.ts'
import type { SourceRecord } from '../src/import/record.ts'
import { Window } from '../src/import/window.ts'
import { duration, printable, quoted } from '../src/output/text.ts'

describe('timestamps', () => {
  test.each([
    ['2024-01-02', '2024-01-02'],
    ['2024-01-02 03:04:05', '2024-01-02T03:04:05Z'],
    ['2024-01-02T03:04', '2024-01-02T03:04Z'],
    ['2024-01-02 03:04:05.123456 UTC', '2024-01-02T03:04:05.123456Z'],
    ['2024-01-02 03:04:05+00', '2024-01-02T03:04:05+00:00'],
    ['2024-01-02T03:04:05.5+0530', '2024-01-02T03:04:05.5+0530'],
    [' 2024-01-02T03:04:05Z ', '2024-01-02T03:04:05Z'],
    [1_700_000_000_000, 1_700_000_000_000],
    ['nonsense', 'nonsense'],
  ])('%j is sent as %j', (value, expected) => {
    expect(castTimestamp(value)).toEqual({ value: expected })
  })

  test.each([1_700_000_000, '1700000000', '1700000000000', 1.5])(
    '%j is refused, since its unit is unknown',
    (value) => {
      expect(castTimestamp(value)).toHaveProperty('problem')
    },
  )

  test('a number with the cast s or ms is a timestamp in that unit', () => {
    expect(cast('1700000000', 's')).toEqual({ value: 1_700_000_000_000 })
    expect(cast(1_700_000_000_000, 'ms')).toEqual({ value: 1_700_000_000_000 })
  })
})

describe('casts', () => {
  test.each([
    ['42.5', 'number', 42.5],
    [' -1e3 ', 'number', -1000],
    ['yes', 'boolean', true],
    ['F', 'boolean', false],
    ['{"a":1}', 'json', { a: 1 }],
    [{ a: 1 }, 'json', { a: 1 }],
    [7, 'text', '7'],
    [null, 'number', null],
  ] as const)('%j is cast to %s', (value, to, expected) => {
    expect(cast(value, to)).toEqual({ value: expected })
  })

  test.each([
    ['1,5', 'number'],
    ['', 'number'],
    ['0x10', 'number'],
    ['1e999', 'number'],
    ['maybe', 'boolean'],
    ['{', 'json'],
  ] as const)('%j is not a valid %s', (value, to) => {
    expect(cast(value, to)).toHaveProperty('problem')
  })
})

describe('the window of pending lines', () => {
  const record = (line: number, bytes = 10): SourceRecord => ({
    line,
    nextLine: line + 1,
    end: line * 100,
    bytes: Buffer.alloc(bytes),
  })

  test('moves past lines in the order of the file, even if their outcomes arrive in another order', () => {
    const passed: number[] = []
    const window = new Window({ offset: 0, line: 1 }, { lines: 10, bytes: 1_000 }, (line) =>
      passed.push(line.record.line),
    )
    const [one, two, three] = [1, 2, 3].map((line) => window.add(record(line), `id-${line}`))

    window.settle(three as never, 'delivered')
    window.settle(two as never, 'refused', { reason: 'invalid', message: 'x' })
    expect([passed, window.frontier]).toEqual([[], { offset: 0, line: 1 }])
    window.settle(one as never, 'delivered')

    expect([passed, window.frontier, window.isEmpty]).toEqual([[1, 2, 3], { offset: 300, line: 4 }, true])
  })

  test('stops at a line that was neither delivered nor refused', () => {
    const window = new Window({ offset: 0, line: 1 }, { lines: 10, bytes: 1_000 }, () => {})
    const [one, two] = [1, 2].map((line) => window.add(record(line), undefined))
    window.settle(one as never, 'undelivered')
    window.settle(two as never, 'delivered')
    window.passTo({ offset: 900, line: 9 })

    expect(window.frontier).toEqual({ offset: 0, line: 1 })
  })

  test.each([
    ['lines', { lines: 2, bytes: 1_000 }],
    ['bytes', { lines: 100, bytes: 20 }],
  ])(
    'is full when it reaches its limit of %s, and has room after the first outcome',
    async (_label, limits) => {
      const window = new Window({ offset: 0, line: 1 }, limits, () => {})
      const first = window.add(record(1), undefined)
      expect(window.isFull).toBe(false)
      window.add(record(2), undefined)
      expect(window.isFull).toBe(true)
      const room = window.room()
      window.settle(first, 'delivered')

      await room
      expect(window.isFull).toBe(false)
    },
  )
})

test('Pace lets lines through at the given rate', () => {
  let nowMs = 0
  const pace = new Pace(100, () => nowMs)
  let lines = 0
  while (nowMs < 10_000) {
    nowMs += pace.take()
    lines++
  }

  // A burst of ten at the start, then one line every 10 ms.
  expect(lines).toBeGreaterThanOrEqual(1_005)
  expect(lines).toBeLessThanOrEqual(1_015)
})

test('a messageId depends on the file name, line number and content, and is short enough for the service', () => {
  const ids = [
    deriveMessageId('a.csv', 1, Buffer.from('x')),
    deriveMessageId('b.csv', 1, Buffer.from('x')),
    deriveMessageId('a.csv', 2, Buffer.from('x')),
    deriveMessageId('a.csv', 1, Buffer.from('y')),
    deriveMessageId('a.csv1', 1, Buffer.from('x')),
  ]

  expect(new Set(ids).size).toBe(ids.length)
  expect(ids[0]).toBe(deriveMessageId('a.csv', 1, Buffer.from('x')))
  for (const id of ids) expect(id).toMatch(/^import-[\w-]{32}$/)
})

test('the delimiter is the most frequent candidate in the header, outside quotes', () => {
  expect(findDelimiter('a,b,c')).toBe(',')
  expect(findDelimiter('a;b;"c,d,e,f"')).toBe(';')
  expect(findDelimiter('a\tb')).toBe('\t')
  expect(findDelimiter('one')).toBe(',')
})

test('the command that continues an import is quoted for a shell, and leaves out the write key', () => {
  const args = [
    'import',
    "it's.csv",
    '--write-key',
    'secret',
    '--restart',
    '--map',
    'a=b c',
    '--write-key=secret',
  ]

  const flags = { added: ['--resume'], dropped: ['--restart'] }
  const rest = `import 'it'\\''s.csv' --map 'a=b c' --resume`
  expect(commandLine({ args, env: {} }, flags)).toBe(`trackpost ${rest}`)
  expect(commandLine({ args, env: { npm_command: 'exec' } }, flags)).toBe(`npx trackpost-cli ${rest}`)
})

test('text from a file or service becomes printable and short, and durations become readable', () => {
  expect(printable('a\u001b[31m\n\u202eb')).toBe('a\\u001b[31m\\u000a\\u202eb')
  expect(quoted('x'.repeat(100)).length).toBeLessThan(60)
  expect([duration(400), duration(12_000), duration(200_000), duration(7_500_000)]).toEqual([
    '0.4 s',
    '12 s',
    '3 min 20 s',
    '2 h 5 min',
  ])
})
