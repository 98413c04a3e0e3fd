import { describe } from '../message/describe.ts'

/** With a misspelt option, `redact` would redact nothing. */
export function requireOptions(plugin: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw mistake(plugin, 'options', 'an object', options)
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new TypeError(`${plugin}: there is no option '${unknown}'; the options are ${known.join(', ')}`)
}

export function requireChoice<Choice extends string>(
  plugin: string,
  option: string,
  value: Choice,
  choices: readonly Choice[],
): Choice {
  if (choices.includes(value)) return value
  throw mistake(plugin, option, `one of ${choices.map((one) => `'${one}'`).join(', ')}`, value)
}

export function mistake(plugin: string, option: string, expected: string, got: unknown): TypeError {
  return new TypeError(`${plugin}: ${option}: expected ${expected}, got ${describe(got)}`)
}
