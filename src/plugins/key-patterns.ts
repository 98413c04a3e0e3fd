import { mistake } from './options.ts'
import { compilePatterns, isRegExp, MAX_LENGTH, requireList } from './text-patterns.ts'

export class KeyPatterns {
  readonly #names: ReadonlySet<string>
  readonly #patterns: readonly RegExp[]

  constructor(given: unknown) {
    const list = requireList('keys', given)
    this.#patterns = compilePatterns('keys', list.filter(isRegExp), '')
    this.#names = new Set(
      list
        .filter((key) => !isRegExp(key))
        .map((key) => {
          if (typeof key === 'string' && key !== '') return normalize(key)
          throw mistake('redact', 'keys', 'non-empty texts and regular expressions', key)
        }),
    )
  }

  get isEmpty(): boolean {
    return this.#names.size + this.#patterns.length === 0
  }

  match(key: string): boolean {
    if (this.#names.size > 0 && this.#names.has(normalize(key))) return true
    if (this.#patterns.length === 0) return false
    return key.length > MAX_LENGTH || this.#patterns.some((pattern) => pattern.test(key))
  }
}

function normalize(key: string): string {
  const joined = /[-_ ]/.test(key) ? key.replace(/[-_ ]/g, '') : key
  return (joined === '' ? key : joined).toLowerCase()
}
