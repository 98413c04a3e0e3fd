import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatRow, parseRows } from '../src/import/csv.ts'
import { CsvRowSplitter } from '../src/import/csv-rows.ts'
import { parseObject } from '../src/import/json.ts'
import { JsonArraySplitter } from '../src/import/json-array.ts'
import { LineSplitter } from '../src/import/lines.ts'
import { MAX_RECORD_BYTES, type SourceRecord, type Splitter } from '../src/import/record.ts'

const START = { offset: 0, line: 1 }
const LIMIT = MAX_RECORD_BYTES
const COMMA = { delimiter: ',', isSpaced: false }

function split(splitter: Splitter, text: string | Buffer, sizes: readonly number[]): SourceRecord[] {
  const bytes = Buffer.from(text)
  const records: SourceRecord[] = []
  let at = 0
  for (let index = 0; at < bytes.length; index++) {
    const size = sizes[index % sizes.length] as number
    records.push(...splitter.push(bytes.subarray(at, at + size)))
    at += size
  }
  return [...records, ...splitter.finish()]
}

const sizes = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 5 })
const field = fc.oneof(
  fc.constantFrom('', 'ada', 'a,b', 'say "hi"', 'two\nlines', 'crlf\r\nin it', '"', '""', 'größe', '💳'),
  fc.string({ maxLength: 8 }).filter((text) => !text.includes('\r')),
)
const rows = fc.array(
  fc.array(field, { minLength: 2, maxLength: 2 }).filter(([first]) => first !== ''),
  { maxLength: 12 },
)

describe('the CSV splitter', () => {
  test('splits rows as csv-parse does, for chunks of any size', () => {
    fc.assert(
      fc.property(rows, sizes, fc.constantFrom('\n', '\r\n'), (rows, sizes, end) => {
        const text = rows.map((row) => formatRow(row, ',') + end).join('')
        const records = split(new CsvRowSplitter(START, COMMA), text, sizes)
        const parsed = parseRows(records, COMMA).map(({ value }) => value)
        expect(parsed).toEqual(parse(text, { record_delimiter: ['\n', '\r\n'] }))
        expect(parsed).toEqual(rows)
      }),
    )
  })

  test('reading can continue after each row', () => {
    fc.assert(
      fc.property(rows, sizes, (rows, sizes) => {
        const text = rows.map((row) => `${formatRow(row, ',')}\n`).join('')
        const records = split(new CsvRowSplitter(START, COMMA), text, sizes)
        for (const [index, { end, nextLine }] of records.entries()) {
          const rest = Buffer.from(text).subarray(end)
          const again = split(new CsvRowSplitter({ offset: end, line: nextLine }, COMMA), rest, sizes)
          expect(again.map(({ bytes, line }) => [bytes.toString(), line])).toEqual(
            records.slice(index + 1).map(({ bytes, line }) => [bytes.toString(), line]),
          )
        }
      }),
    )
  })

  test('a broken quote loses one line, and a line over the limit is not kept in memory', () => {
    const text = `a,b\nx,"open\ny,"z"\n"q"r,s\n${'l'.repeat(LIMIT + 1)}\n"${'m'.repeat(LIMIT)}\nlast,"end`
    for (const size of [1_000, 65_536, 3_000_000]) {
      const records = split(new CsvRowSplitter(START, COMMA), text, [size])
      expect(records.map(({ line, bytes, problem }) => [line, bytes.toString(), problem?.reason])).toEqual([
        [1, 'a,b', undefined],
        [2, 'x,"open', 'invalid_csv'],
        [3, 'y,"z"', undefined],
        [4, '"q"r,s', 'invalid_csv'],
        [5, '', 'too_long'],
        [6, '', 'too_long'],
        [7, 'last,"end', 'invalid_csv'],
      ])
    }
  })

  test('a quote in the middle of a field spoils only its own line', () => {
    const records = split(new CsvRowSplitter(START, COMMA), '5" pipe,1\nada,2\n', [100])
    const parsed = parseRows(records, COMMA)

    expect(parsed[0]?.problem?.message).toBe('a quote inside a field that is not quoted')
    expect(parsed[1]?.value).toEqual(['ada', '2'])
  })
})

describe('the NDJSON splitter', () => {
  test('splits lines as String.split does, for chunks of any size', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 20 }).filter((one) => !/[\r\n]/.test(one))),
        sizes,
        (lines, sizes) => {
          const records = split(new LineSplitter(START), lines.join('\n'), sizes)
          expect(records.map(({ line, bytes }) => [line, bytes.toString()])).toEqual(
            lines
              .map((text, index) => [index + 1, text] as const)
              .filter(([, text]) => /[^ \t\r]/.test(text)),
          )
        },
      ),
    )
  })

  test('a line over the limit is refused with its line number, and the next line is read', () => {
    for (const size of [1_000, 65_536, 3_000_000]) {
      const text = `a\n${'x'.repeat(LIMIT)}\n${'x'.repeat(LIMIT + 1)}\nb`
      const records = split(new LineSplitter(START), text, [size])
      expect(records.map(({ line, problem }) => [line, problem?.message])).toEqual([
        [1, undefined],
        [2, undefined],
        [3, 'line 3 has more than 1,048,576 bytes'],
        [4, undefined],
      ])
    }
  })
})

describe('the splitter of a JSON array', () => {
  test('finds the same elements as JSON.parse, for chunks of any size', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue({ maxDepth: 3 })),
        sizes,
        fc.constantFrom(0, 2),
        (values, sizes, indent) => {
          const records = split(new JsonArraySplitter(START), JSON.stringify(values, null, indent), sizes)
          expect(records.map(({ bytes }) => JSON.parse(bytes.toString()))).toEqual(
            JSON.parse(JSON.stringify(values)),
          )
        },
      ),
    )
  })

  test('reading can continue after each element, with the right line number', () => {
    const text = JSON.stringify([{ a: '[{"\\' }, { b: [1, 2] }, 'x', 4, null], null, 1)
    const records = split(new JsonArraySplitter(START), text, [7])
    for (const [index, { end, nextLine }] of records.entries()) {
      const splitter = new JsonArraySplitter({ offset: end, line: nextLine }, { isInside: true })
      const again = split(splitter, Buffer.from(text).subarray(end), [5])
      expect(again.map(({ line, bytes }) => [line, bytes.toString()])).toEqual(
        records.slice(index + 1).map(({ line, bytes }) => [line, bytes.toString()]),
      )
    }
  })

  test.each([
    ['{}', 'expected an array'],
    ['[1 2]', 'expected a comma or the end'],
    ['[1,]', 'expected an element'],
    ['[,1]', 'expected an element or the end'],
    ['[1] 2', 'expected nothing after the array'],
  ])('a broken array is reported: %s', (text, message) => {
    const splitter = new JsonArraySplitter(START)
    splitter.push(Buffer.from(text))

    expect(splitter.failure?.message).toContain(message)
  })

  test.each(['[1', '[', '[1,', ''])('an array without an end is reported: %s', (text) => {
    const splitter = new JsonArraySplitter(START)
    const records = splitter.push(Buffer.from(text))
    let problem: string | undefined
    try {
      problem = splitter.finish()[0]?.problem?.message
    } catch (error) {
      problem = (error as Error).message
    }

    expect(records.length).toBe(text === '[1,' ? 1 : 0)
    expect(problem).toMatch(/no end|ends inside|expected a JSON array/)
  })
})

test('a JSON error is reported with line and column, even if it is not in the first line of its element', () => {
  const record = { line: 5, nextLine: 8, end: 0, bytes: Buffer.from('{\n "a": 1,\n "b" 2}') }

  expect(parseObject(record).problem).toMatchObject({
    linesDown: 2,
    column: 6,
    message: 'expected ":", but found "2"',
  })
})
