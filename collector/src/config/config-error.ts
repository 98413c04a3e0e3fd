/** Settings that cannot be used; the message is one line for the person who wrote them. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
