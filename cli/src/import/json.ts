// The imported module is bundled into the package, since it has no dependencies.
import { findJsonError } from '../../../collector/src/json/json-error.ts'
import type { ParsedRecord } from './csv.ts'
import type { Problem, SourceRecord } from './record.ts'
import { decode, NOT_UTF8 } from './utf8.ts'

export type Fields = Readonly<Record<string, unknown>>

export function parseObject(record: SourceRecord): ParsedRecord<Fields> {
  if (record.problem !== undefined) return { record, problem: record.problem }
  const text = decode(record.bytes)
  if (text === undefined) return { record, problem: NOT_UTF8 }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { record, problem: jsonProblem(text, record.line) }
  }
  if (isObject(value)) return { record, value }
  const kind = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`
  return { record, problem: { reason: 'invalid_json', message: `expected an object, got ${kind}` } }
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function jsonProblem(text: string, firstLine: number): Problem {
  const reason = 'invalid_json'
  try {
    const found = findJsonError(text)
    if (found !== undefined) {
      const { column, line } = found
      const message = found.message.replace('the body', 'the line')
      // Probably a whole file with one object over several lines.
      const isCut = firstLine === 1 && text.trimStart().startsWith('{') && message.endsWith('the line ends')
      const hint = isCut ? '; write one object per line, or an array' : ''
      return { reason, message: message + hint, column, linesDown: line - 1 }
    }
  } catch {
    // The text is nested too deeply for the recursive search.
  }
  return { reason, message: 'this is not valid JSON' }
}
