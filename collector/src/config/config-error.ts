/** A setting that cannot be used. The message is one line, and says what to write. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
