/** Shorter secrets are replaced only as whole words, because they may also be a part of other words. */
const SHORT = 8
export const REDACTED = '[redacted]'

/** Whether the value of a request header with this name may be a secret. */
export function isSecretHeader(name: string): boolean {
  return /auth|token|secret|key|cookie|session|credential|password|signature/i.test(name)
}

/**
 * Makes a function that replaces each secret in a text, also if it was joined into one line, escaped for JSON or
 * percent-encoded. If a text was cut in the middle of a secret, at most 7 characters of the secret stay.
 */
export function redactor(secrets: readonly string[]): (text: string) => string {
  // Made when it is first used: most processes never have to tell anything.
  let replacements: ((text: string) => string)[] | undefined
  return (text) => {
    replacements ??= formsOf(secrets).map(toReplacement)
    return replacements.reduce((clean, replace) => replace(clean), text)
  }
}

/** The longest comes first, because a secret may be a part of another secret. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets
    .filter((secret) => secret !== '')
    .flatMap((secret) => [secret, secret.trim().replace(/\s*[\r\n]+\s*/g, ' ')])
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  return [...new Set(forms)].sort((one, other) => other.length - one.length)
}

function toReplacement(secret: string): (text: string) => string {
  if (secret.length >= SHORT) return (text) => cutEnd(text.split(secret).join(REDACTED), secret)
  const alone = new RegExp(`(?<!\\w)${secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?!\\w)`, 'g')
  return (text) => text.replace(alone, REDACTED)
}

/** If `text` ends with the beginning of `secret`, replaces that end. */
function cutEnd(text: string, secret: string): string {
  for (let length = Math.min(secret.length - 1, text.length); length >= SHORT; length--) {
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + REDACTED
  }
  return text
}
