/** Shorter secrets are replaced only where they stand alone: they may be a part of ordinary words. */
const SHORT = 8
/** Replaces a secret. */
export const REDACTED = '[redacted]'

/** Whether the value of a request header with this name may be a secret. */
export function isSecretHeader(name: string): boolean {
  return /auth|token|secret|key|cookie|session|credential|password|signature/i.test(name)
}

/**
 * Makes a function that replaces each secret in a text by `[redacted]`: as it is, in one line, as JSON and percent-encoded; a
 * short one only where it stands alone. If a text was cut in the middle of a secret, at most 7 characters of it stay.
 */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const forms = new Set(
    secrets
      .filter((secret) => secret !== '')
      .flatMap((secret) => [secret, secret.trim().replace(/\s*[\r\n]+\s*/g, ' ')])
      .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]),
  )
  // The longest first: a secret may be a part of another one.
  const replacements = [...forms].sort((one, other) => other.length - one.length).map(toReplacement)
  return (text) => replacements.reduce((clean, replace) => replace(clean), text)
}

function toReplacement(secret: string): (text: string) => string {
  if (secret.length >= SHORT) return (text) => cutEnd(text.split(secret).join(REDACTED), secret)
  const alone = new RegExp(`(?<!\\w)${secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?!\\w)`, 'g')
  return (text) => text.replace(alone, REDACTED)
}

/** Replaces the beginning of `secret` at the end of `text`. */
function cutEnd(text: string, secret: string): string {
  for (let length = Math.min(secret.length - 1, text.length); length >= SHORT; length--) {
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + REDACTED
  }
  return text
}
