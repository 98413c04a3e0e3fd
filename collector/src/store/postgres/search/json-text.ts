/** Replaces U+0000 in a text of `messageOf`; sorts where that would. */
const NUL = '\u0001\ufdd0'
/** Begins the four digits that replace a lone surrogate. */
const SURROGATE = '\ufdd1'

/**
 * The message of an event as `jsonb`, of a column.
 *
 * `jsonb` refuses U+0000 and lone surrogates, which JSON may have as escapes. Noncharacters stand for them, so that such a message can be
 * searched like others. Escaped backslashes are rewritten first: after that each backslash begins an escape.
 */
export function messageOf(column: string): string {
  return `(CASE WHEN strpos(${column}, '\\u') = 0 THEN ${column} ELSE
  regexp_replace(
    replace(replace(${column}, '\\\\', '\\u005c'), '\\u0000', '\\u0001\\ufdd0'),
    '\\\\u(d[89a-f][0-9a-f]{2})', '\\\\ufdd1\\1', 'gi') END)::jsonb`
}

/** A key or text as it is found in `messageOf`. */
export function jsonText(text: string): string {
  if (!text.includes('\0') && text.isWellFormed()) return text
  return text
    .replaceAll('\0', NUL)
    .replace(
      /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      (unit) => SURROGATE + unit.charCodeAt(0).toString(16),
    )
}
