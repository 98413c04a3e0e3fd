import type { Comparison, Search } from '../../search/syntax.ts'
import { numberColumn, textColumn } from './column-conditions.ts'
import { Compiler } from './compiler.ts'
import { type Condition, caseVariants, joined } from './condition.ts'
import type { Dialect } from './dialect.ts'

const REQUEST_TEXTS: Readonly<Record<string, string>> = {
  method: 'method',
  path: 'path',
  code: 'code',
  source: 'source',
  address: 'address',
  agent: 'agent',
  library: 'library',
  type: 'content_type',
  fault: 'fault',
}
const REQUEST_NUMBERS: Readonly<Record<string, string>> = {
  status: 'status',
  bytes: 'body_bytes',
  duration: 'duration',
  retries: 'retries',
  events: 'events',
}

class RequestCompiler extends Compiler {
  text(text: string): Condition {
    const columns = ['path', 'code', 'source', 'address', 'agent', 'library', 'problem', 'body']
    return joined(
      caseVariants(text).flatMap((variant) =>
        columns.map((column) => this.dialect.contains(column, variant)),
      ),
      'OR',
      this.dialect.false,
    )
  }

  comparison(comparison: Comparison): Condition {
    const text = REQUEST_TEXTS[comparison.field]
    if (text !== undefined) return textColumn(this.dialect, comparison, text)
    const number = REQUEST_NUMBERS[comparison.field]
    return number === undefined ? this.time(comparison, 'at') : numberColumn(this.dialect, comparison, number)
  }
}

/** A search over requests as SQL. */
export function requestCondition(dialect: Dialect, search: Search, nowMs: number): Condition {
  return new RequestCompiler(dialect, nowMs).compile(search)
}
