// The imported module is bundled into the package, since it has no dependencies.
import { findJsonError } from '../../../collector/src/json/json-error.ts'
import { UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'

/**
 * Parses the content of a file, which may begin with a byte order mark.
 *
 * @param name The file, for messages: `plan.json`.
 * @param what What the text is, for messages: `the plan`.
 * @throws UsageError with the line and column of the mistake. It does not quote the text, which may have a write key.
 */
export function parseJson(text: string, name: string, what: string): unknown {
  const json = text.replace(/^\uFEFF/, '')
  try {
    return JSON.parse(json)
  } catch (cause) {
    const found = findJsonError(json)
    if (found === undefined) throw cause
    const message = printable(found.message.replace('the body', what))
    throw new UsageError(`${name}:${found.line}:${found.column}: ${message}`)
  }
}
