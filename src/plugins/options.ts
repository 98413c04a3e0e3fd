import { describe } from '../message/describe.ts'

/** With a misspelt option, `redact` would redact nothing. */
export function requireOptions(callee: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw mistake(callee, 'options', 'an object', options)
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new TypeError(`${callee}: there is no option '${unknown}'; the options are ${known.join(', ')}`)
}

export function mistake(callee: string, option: string, expected: string, got: unknown): TypeError {
  return new TypeError(`${callee}: ${option}: expected ${expected}, got ${describe(got)}`)
}
