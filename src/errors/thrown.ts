import { describeCause } from './cause.ts'

/** `undefined` if this runtime's stacks have another form. */
const OWN_FOLDER = placesOf(new Error())[0]?.replace(/(?:errors[\\/])?[^\\/]*$/, '')

/**
 * In one line: `boom (at /app/shop.js:12:7)`, the first place outside of this package and the runtime. Never throws.
 *
 * @param redact Replaces the secrets of the client: the message may quote them. Without it, there is only the place.
 */
export function describeThrown(thrown: unknown, redact?: (text: string) => string): string {
  const place = placesOf(thrown).find(isOutside)
  const message = redact?.(describeCause(thrown)) ?? ''
  if (place === undefined) return message
  return message === '' ? `at ${place}` : `${message} (at ${place})`
}

/** From `    at name (/app/shop.js:12:7)`, or without a name and parentheses. */
function placesOf(thrown: unknown): string[] {
  try {
    const { stack } = thrown as { stack?: unknown }
    const frames = typeof stack === 'string' ? stack.split('\n') : []
    return frames.flatMap(
      (frame) => /^\s*at (?:.*\()?(?:async )?(?:file:\/\/)?(.+:\d+:\d+)\)?$/.exec(frame)?.[1] ?? [],
    )
  } catch {
    return []
  }
}

function isOutside(place: string): boolean {
  return !place.startsWith('node:') && (OWN_FOLDER === undefined || !place.startsWith(OWN_FOLDER))
}
