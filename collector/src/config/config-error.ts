/** Settings that cannot be used. The message is one line for the user who wrote the settings. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
