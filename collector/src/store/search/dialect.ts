import type { Operator } from '../../search/syntax.ts'
import type { Sql } from '../sql.ts'

/** The numbers between which records lie, both included. */
export interface Bounds {
  first: number
  last: number
}

/** How a database writes the conditions that searches are made of. */
export interface Dialect {
  /** A column of text compared with a text; characters are ordered by their code points. */
  text(column: string, operator: Operator, text: string): Sql
  /** Whether a column holds a text that is not empty. */
  hasText(column: string): Sql
  number(column: string, operator: Operator, number: number): Sql
  begins(column: string, text: string): Sql
  /** Whether a text occurs in a column; the case of ASCII letters is ignored. */
  contains(column: string, text: string): Sql
  /**
   * Whether a text occurs in the fields that an event of the slice inherits from its batch. Fields that the event overrides are
   * searched too.
   */
  inheritedContains(text: string, slice: Bounds): Sql
  /** The values in the message to which a path may lead: a whole number is a place in an array or a key of an object. */
  at(path: readonly string[]): readonly PathValue[]
  /** Whether an event of the slice has a delivery of which the condition is true. */
  delivery(condition: Sql, slice: Bounds): Sql
}

/** A value in the message, by its path. Numbers compare with numbers, everything else as text. */
export interface PathValue {
  readonly exists: Sql
  text(operator: Operator, text: string): Sql
  begins(text: string): Sql
  number(operator: Operator, number: number): Sql
  /** Whether it is this one of `true`, `false` and `null`. */
  is(literal: string): Sql
}
