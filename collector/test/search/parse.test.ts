import { expect, test } from 'vitest'
import { parseSearch } from '../../src/search/parse.ts'
import { EVENT_VOCABULARY, SearchSyntaxError, term } from '../../src/search/syntax.ts'
import { parseTime } from '../../src/search/time.ts'

test.each([
  ['event:', 5, /value/],
  ['event: a', 5, /value/],
  ['event:a,', 7, /value/],
  ['event:,a', 6, /value/],
  ['event:Paid user:(', 16, /value/],
  ['foo:bar', 0, /no field is named "foo"/],
  ['user:ada foo:bar', 9, /no field/],
  ['event:"open', 6, /not closed/],
  ['(a', 0, /not closed/],
  ['a)', 1, /closes nothing/],
  ['a OR', 3, /term/],
  ['-', 0, /term/],
  ['event:"a\\n"', 8, /expected/],
  ['properties.total>*', 17, /one value/],
  ['properties.total>1,2', 17, /one value/],
  ['properties..a:1', 0, /empty/],
  ['a,b', 1, /quote the text/],
])('%s is refused at %i', (line, position, message) => {
  let caught: unknown
  try {
    parseSearch(line, EVENT_VOCABULARY)
  } catch (cause) {
    caught = cause
  }
  expect(caught).toBeInstanceOf(SearchSyntaxError)
  expect(caught).toMatchObject({ position, message: expect.stringMatching(message) })
})

test.each([
  ['a '.repeat(200), 'bc', 2],
  ['event:a '.repeat(200), '"b c"', 5],
  [`event:${'a,'.repeat(199)}a `, 'event:b,c', 9],
  ['properties.0.1:a '.repeat(200), '-(name:b)', 6],
])(
  'a line with 200 words and values is searched; one more term is refused at its place',
  (line, term, length) => {
    parseSearch(line, EVENT_VOCABULARY)
    let caught: unknown
    try {
      parseSearch(line + term, EVENT_VOCABULARY)
    } catch (cause) {
      caught = cause
    }
    const position = line.length + term.search(/[^-(]/)
    expect(caught).toMatchObject({ position, length, message: expect.stringMatching(/at most 200/) })
  },
)

test.each(['ada', 'a b', 'say "hi"', '-x', 'a*', '5', 'true', 'OR', 'a,b', 'a:b', '(', '\\', '', 'é'])(
  'a term made from %j matches exactly this text',
  (value) => {
    const search = parseSearch(term('user', value), EVENT_VOCABULARY)
    expect(search).toMatchObject({ kind: 'compare', values: [{ is: 'exact', text: value }] })
  },
)

test.each([
  ['-15m', 1_000_000_000 - 900_000],
  ['1700000000000', 1_700_000_000_000],
  ['2026-05-17', Date.UTC(2026, 4, 17)],
  ['2026-05-17T09:30', Date.UTC(2026, 4, 17, 9, 30)],
  ['2026-05-17T09:30:00+02:00', Date.UTC(2026, 4, 17, 7, 30)],
  ['yesterday', undefined],
  ['2026-13-01', undefined],
])('the time %j is parsed as %j', (text, expected) => {
  expect(parseTime(text, 1_000_000_000)).toBe(expected)
})
