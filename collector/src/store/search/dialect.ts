import type { Comparison, Operator } from '../../search/syntax.ts'
import type { Condition } from './condition.ts'

/** How a database writes the conditions that searches are made of. Placeholders are `?`. */
export interface Dialect {
  /** The conditions that are always and never so. */
  readonly true: string
  readonly false: string
  /** A column of text compared with a text; characters are ordered by their code points. */
  text(column: string, operator: Operator, text: string): Condition
  /** Whether a column holds a text that is not empty. */
  hasText(column: string): string
  number(column: string, operator: Operator, number: number): Condition
  begins(expression: string, text: string): Condition
  /** Whether a text occurs in a column; the case of ASCII letters is ignored. */
  contains(column: string, text: string): Condition
  /** Whether a text occurs in what the event takes over from its batch, also under a key for which it has a value of its own. */
  inheritedContains(text: string): Condition
  /** A path into the message. Numbers compare with numbers, everything else as text. */
  path(comparison: Comparison): Condition
  /** Whether the event has a delivery of which all conditions are true. */
  delivery(conditions: readonly Condition[]): Condition
}
