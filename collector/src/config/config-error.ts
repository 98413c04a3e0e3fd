import { hasName } from '../error-name.ts'
/** Settings that cannot be used. The message is one line for the user who wrote the settings. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasName(value, 'ConfigError')
  }
}
