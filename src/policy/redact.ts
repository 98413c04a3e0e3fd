/** Shorter than any real key. A test's key of `x` would otherwise blacken every x of every message. */
const SHORTEST_SECRET = 8

/** Replaces each of `secrets` by `[redacted]`; those of fewer than 8 characters are none. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const real = secrets.filter((secret) => secret.length >= SHORTEST_SECRET)
  return (text) => real.reduce((clean, secret) => clean.split(secret).join('[redacted]'), text)
}
