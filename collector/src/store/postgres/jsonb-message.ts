import type { PathValue } from '../dialect.ts'
import { isInherited } from '../inherited.ts'
import { begins } from '../search/condition.ts'
import { raw, type Sql, sql } from '../sql.ts'

/** The message of the event at hand, parsed once; see `WITH_MESSAGE`. */
export const MESSAGE_COLUMN = 'parsed.message'
/** The inherited fields of the event at hand, parsed once; see `WITH_INHERITED`. */
export const INHERITED_COLUMN = 'outer_parsed.message'

/** The value of a path as `jsonb`. */
export function at(path: readonly string[]): PathValue[] {
  const value = placeOf(path)
  const type = sql`jsonb_typeof(${value})`
  const asText = sql`(${value} #>> '{}')`
  return [
    {
      exists: sql`${value} IS NOT NULL`,
      text: (operator, text) =>
        operator === '='
          ? sql`${value} = to_jsonb(${jsonText(text)}::text)`
          : sql`(${type} = 'string' AND ${asText} COLLATE "C" ${raw(operator)} ${jsonText(text)})`,
      begins: (text) => sql`(${type} = 'string' AND ${begins(asText, jsonText(text))})`,
      number: (operator, number) =>
        sql`(${type} = 'number' AND ${value} ${raw(operator)} to_jsonb(${String(number)}::numeric))`,
      is: (literal) => sql`${value} = ${literal}::jsonb`,
    },
  ]
}

/** The value at a path, or NULL. `#>` reads a whole number as an index of an array too; `->` with a text reads only keys. */
function placeOf(keys: readonly string[]): Sql {
  const along = (from: Sql, some: readonly string[]) =>
    some.reduce(
      (before, key) =>
        /^\d{1,6}$/.test(key)
          ? sql`${before} #> ARRAY[${jsonText(key)}::text]`
          : sql`${before} -> ${jsonText(key)}::text`,
      from,
    )
  const own = raw(MESSAGE_COLUMN)
  if (!isInherited(keys[0])) return sql`(${along(own, keys)})`
  // Inherited fields are merged one level deep: the object that has the second key has everything below it.
  const [shared, deeper] = [keys.slice(0, 2), keys.slice(2)]
  const merged = sql`coalesce(${along(own, shared)}, ${along(raw(INHERITED_COLUMN), shared)})`
  return sql`(${along(merged, deeper)})`
}

/** Replaces U+0000 in texts of `jsonbOf`, and sorts like it. */
const NUL = '\u0001\ufdd0'
/** Begins the four digits that replace a lone surrogate. */
const SURROGATE = '\ufdd1'

/**
 * An expression for the JSON text of a column as `jsonb`.
 *
 * `jsonb` refuses U+0000 and lone surrogates, which JSON may have as escapes. Noncharacters replace them, so that such a
 * message can be searched like others. Escaped backslashes are rewritten first: after that, each backslash begins an escape.
 */
export function jsonbOf(column: string): string {
  return `(CASE WHEN strpos(${column}, '\\u') = 0 THEN ${column} ELSE
  regexp_replace(
    replace(replace(${column}, '\\\\', '\\u005c'), '\\u0000', '\\u0001\\ufdd0'),
    '\\\\u(d[89a-f][0-9a-f]{2})', '\\\\ufdd1\\1', 'gi') END)::jsonb`
}

/** A key or text as it is written in `jsonbOf`. */
function jsonText(text: string): string {
  if (!text.includes('\0') && text.isWellFormed()) return text
  return text
    .replaceAll('\0', NUL)
    .replace(
      /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      (unit) => SURROGATE + unit.charCodeAt(0).toString(16),
    )
}
