// The imported module is bundled into the package, since it has no dependencies.
import { findJsonError, position } from '../../../collector/src/json/json-error.ts'
import { quoted } from '../output/text.ts'
import { type ExactJson, parseExact, repeatedKey } from '../settings/exact-json.ts'
import type { ParsedRecord, Problem, SourceRecord } from './record.ts'
import { decode, NOT_UTF8 } from './utf8.ts'

export type Fields = Readonly<Record<string, unknown>>

const reason = 'invalid_json'

export function parseObject(record: SourceRecord): ParsedRecord<Fields> {
  if (record.problem !== undefined) return { record, problem: record.problem }
  const text = decode(record.bytes)
  if (text === undefined) return { record, problem: NOT_UTF8 }
  let exact: ExactJson
  try {
    exact = parseExact(text)
    const repeated = repeatedKey(text)
    if (repeated !== undefined) {
      const { line, column } = position(text, repeated.offset)
      const message = `the key ${quoted(repeated.key)} is there twice, and only one value would be sent`
      return { record, problem: { reason, message, column, linesDown: line - 1 } }
    }
  } catch (error) {
    const message = 'this is nested too deeply'
    return { record, problem: error instanceof RangeError ? { reason, message } : jsonProblem(text) }
  }
  const { value, losses } = exact
  if (isObject(value)) return { record, value, losses }
  const kind = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`
  return { record, problem: { reason, message: `expected an object, got ${kind}` } }
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function jsonProblem(text: string): Problem {
  try {
    const found = findJsonError(text)
    if (found !== undefined) {
      const { column, line } = found
      return { reason, message: found.message.replace('the body', 'the line'), column, linesDown: line - 1 }
    }
  } catch {
    // The text is nested too deeply for the recursive search.
  }
  return { reason, message: 'this is not valid JSON' }
}
