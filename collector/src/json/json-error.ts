import { findNodeAtLocation, type ParseErrorCode, parseTree, printParseErrorCode, visit } from 'jsonc-parser'

/** The place at which a text stops being JSON. */
export interface JsonError {
  /** UTF-16 code units from the start of the text. */
  offset: number
  /** Counted from 1. */
  line: number
  /** Counted from 1, in UTF-16 code units. */
  column: number
  message: string
}

const EXPECTED: Readonly<Record<string, string>> = {
  InvalidSymbol: 'a text in double quotes, a number, true, false or null',
  PropertyNameExpected: 'a key in double quotes',
  ColonExpected: '":"',
  CommaExpected: '","',
  CloseBraceExpected: '"," or "}"',
  CloseBracketExpected: '"," or "]"',
  EndOfFileExpected: 'the end of the body',
}
/** Mistakes within a string or a number, which is at the place of the error. */
const WITHIN: Readonly<Record<string, string>> = {
  UnexpectedEndOfString: 'the string that begins here does not end',
  InvalidCharacter: 'the string that begins here has a control character',
  InvalidUnicode: 'the string that begins here has an invalid escape',
  InvalidEscapeCharacter: 'the string that begins here has an invalid escape',
  UnexpectedEndOfNumber: 'the number that begins here does not end',
}

/**
 * Returns undefined if the text is valid. V8 is not used: its message has the position of only some mistakes, and quotes the
 * text. The search is recursive, so the stack limits the nesting of the text.
 */
export function findJsonError(text: string): JsonError | undefined {
  let first: { code: ParseErrorCode; offset: number } | undefined
  const onError = (code: ParseErrorCode, offset: number) => {
    first ??= { code, offset }
  }
  visit(text, { onError }, { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false })
  if (first === undefined) return undefined
  const { offset } = first
  const code = printParseErrorCode(first.code)
  const found = text[offset] === undefined ? 'the body ends' : `found ${JSON.stringify(text[offset])}`
  const message = WITHIN[code] ?? `expected ${EXPECTED[code] ?? 'a value'}, but ${found}`
  return { ...position(text, offset), message }
}

export function position(text: string, offset: number): Omit<JsonError, 'message'> {
  const before = text.slice(0, offset).split('\n')
  return { offset, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/**
 * The place of the value to which keys and array indexes lead in a valid text. If there is no such value, the place of the
 * nearest value around it.
 */
export function positionOf(text: string, path: readonly (string | number)[]): Omit<JsonError, 'message'> {
  const root = parseTree(text)
  let end = path.length
  let node = root && findNodeAtLocation(root, [...path])
  while (root !== undefined && node === undefined && end > 0)
    node = findNodeAtLocation(root, path.slice(0, --end))
  return position(text, node?.offset ?? 0)
}
