import type { Comparison, Search, Value } from '../../search/syntax.ts'
import { parseTime } from '../../search/time.ts'
import { type Condition, joined, wrong } from './condition.ts'
import type { Dialect } from './dialect.ts'

/** The common part of the compilers of both tables. */
export abstract class Compiler {
  readonly dialect: Dialect
  readonly nowMs: number

  constructor(dialect: Dialect, nowMs: number) {
    this.dialect = dialect
    this.nowMs = nowMs
  }

  abstract text(text: string): Condition
  abstract comparison(comparison: Comparison): Condition

  compile(search: Search): Condition {
    switch (search.kind) {
      case 'and':
        return joined(this.parts(search.parts), 'AND', this.dialect.true)
      case 'or':
        return joined(
          search.parts.map((part) => this.compile(part)),
          'OR',
          this.dialect.false,
        )
      case 'not': {
        const { sql, values } = this.compile(search.part)
        // A field that is absent does not match, and its negation does.
        return { sql: `(${sql}) IS NOT TRUE`, values }
      }
      case 'text':
        return this.text(search.text)
      case 'compare': {
        const { operator } = search
        if (operator !== '!=') return this.comparison(search)
        return this.compile({ kind: 'not', part: { ...search, operator: '=' } })
      }
    }
  }

  parts(parts: readonly Search[]): Condition[] {
    return parts.map((part) => this.compile(part))
  }

  time(comparison: Comparison, column: string): Condition {
    return this.each(comparison, (value) => {
      if (value.is !== 'exact') throw wrong(comparison, 'expected a time')
      const timeMs = parseTime(value.text, this.nowMs)
      if (timeMs === undefined) throw wrong(comparison, `${JSON.stringify(value.text)} is no time`)
      return { sql: `${column} ${comparison.operator} ?`, values: [timeMs] }
    })
  }

  each(comparison: Comparison, one: (value: Value) => Condition): Condition {
    return joined(comparison.values.map(one), 'OR', this.dialect.false)
  }
}
