import fc from 'fast-check'

const fail = (): never => {
  throw new Error('échec')
}
/** What a program may throw: even to look at it throws. */
export const THROWING: unknown = new Proxy(new Error(), { get: fail, getPrototypeOf: fail })

const SPACES = [
  ' ',
  '\t',
  '\n',
  '\r\n',
  '\v',
  '\f',
  '\u00a0',
  '\u1680',
  '\u2003',
  '\u2028',
  '\u3000',
  '\ufeff',
]
const CONTROLS = ['\u0000', '\u0001', '\u0007', '\u001b', '\u001f', '\u007f', '\u0080', '\u0085', '\u009f']
const SURROGATES = ['\ud800', '\udbff', '\udc00', '\udfff', '\udf70\ud83c', '\\ud800']
const LETTERS = [
  'a',
  '7',
  '-',
  '"',
  '\\',
  'é',
  '中',
  '🍰',
  '👨‍👩‍👧',
  'e\u0301',
  '\u202e',
  '\u200b',
  '\ufffd',
  '\\u0000',
]
/** Values that are no text, as JSON can have them. */
const OTHERS: readonly unknown[] = [
  null,
  true,
  false,
  0,
  1,
  -17.5,
  1e21,
  9_007_199_254_740_991,
  [],
  ['a'],
  {},
  { toString: 'a' },
]

const alphabets = [SPACES, CONTROLS, SURROGATES, LETTERS, [...SPACES, ...CONTROLS, ...SURROGATES, ...LETTERS]]
const texts = fc.tuple(fc.constantFrom(...alphabets), fc.constantFrom(1, 2, 3, 17, 98, 99, 100, 101, 250))
const text = texts.chain(([alphabet, length]) =>
  fc
    .array(fc.constantFrom(...alphabet), { minLength: length, maxLength: length })
    .map((parts) => parts.join('')),
)

/**
 * 4,000 values that a program might put where the name of an event, an id or a `messageId` belongs: texts of letters, white
 * space, control characters and halves of surrogate pairs, of many lengths, and other JSON. The same in every run.
 */
export const ODD_VALUES: readonly unknown[] = [
  ...['', ...OTHERS, ...alphabets.slice(0, 4).flat()],
  ...fc.sample(text, { numRuns: 4_000, seed: 17 }),
].slice(0, 4_000)

/** The fields to which the rule applies, in a call that is complete only with the field. */
export const ODD_FIELDS = {
  event: ['track', { userId: 'u' }],
  userId: ['track', { event: 'e' }],
  anonymousId: ['track', { event: 'e' }],
  groupId: ['group', { userId: 'u' }],
  previousId: ['alias', { userId: 'u' }],
  messageId: ['track', { event: 'e', userId: 'u' }],
} as const

/** The rule of docs/spec.md, section 1, for the client and the collector alike. `null` is as if the field was left out. */
export function isValid(field: keyof typeof ODD_FIELDS, value: unknown): boolean {
  if (field === 'messageId') return value === null || isValidMessageId(value)
  if (typeof value === 'string') return value.trim() !== ''
  return field !== 'event' && typeof value === 'number'
}

function isValidMessageId(value: unknown): boolean {
  if (typeof value !== 'string' || value === '') return false
  const characters = [...value]
  return characters.length < 100 && !characters.some(isControl)
}

function isControl(character: string): boolean {
  const code = character.charCodeAt(0)
  return code < 0x20 || (code > 0x7e && code < 0xa0)
}
