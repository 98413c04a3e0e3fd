import { begins, isInherited, type PathValue, raw, type Sql, sql } from 'trackpost-collector/sql'

/** See `WITH_MESSAGE` in `dialect.ts`. */
export const MESSAGE_COLUMN = 'parsed.message'
/** See `WITH_INHERITED` in `dialect.ts`. */
export const INHERITED_COLUMN = 'outer_parsed.message'

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
        sql`(${type} = 'number' AND ${value} ${raw(operator)} to_jsonb(${number}::numeric))`,
      is: (literal) => sql`${value} = ${literal}::jsonb`,
    },
  ]
}

/** `#>` takes a whole number as an array index or as a key; `->` with a text takes only keys. */
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
  // Inherited fields are merged one level deep: the value at the first two keys comes whole from the message or from the batch.
  const [shared, deeper] = [keys.slice(0, 2), keys.slice(2)]
  const merged = sql`coalesce(${along(own, shared)}, ${along(raw(INHERITED_COLUMN), shared)})`
  return sql`(${along(merged, deeper)})`
}

/** Replaces U+0000 in the texts of `jsonbOf`. It begins with U+0001, so texts keep their order. */
const NUL = '\u0001\ufdd0'
/** In the texts of `jsonbOf`, a lone surrogate is replaced by this character and four hexadecimal digits. */
const SURROGATE = '\ufdd1'

/**
 * The function `message_of` returns null for a text that `jsonb` cannot represent, such as a number with 20,000 digits: one
 * event must not break the searches for others.
 *
 * JSON may contain U+0000 and lone surrogates as escapes, which `jsonb` refuses. They are replaced by noncharacters, so that
 * such messages can be searched too. Escaped backslashes are rewritten first, because otherwise `\\u0000` (a backslash, then
 * `u0000`) would be taken for an escaped U+0000.
 */
export function jsonbOf(column: string): string {
  return `message_of(CASE WHEN strpos(${column}, '\\u') = 0 THEN ${column} ELSE
  regexp_replace(
    replace(replace(${column}, '\\\\', '\\u005c'), '\\u0000', '\\u0001\\ufdd0'),
    '\\\\u(d[89a-f][0-9a-f]{2})', '\\\\ufdd1\\1', 'gi') END)`
}

/** A key or text with the same replacements as in `jsonbOf`. */
function jsonText(text: string): string {
  if (!text.includes('\0') && text.isWellFormed()) return text
  return text
    .replaceAll('\0', NUL)
    .replace(
      /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      (unit) => SURROGATE + unit.charCodeAt(0).toString(16),
    )
}
