import { detectRuntime, runtimeProcess } from './detect.ts'

/** Everything that could forge a line of a log, or colour it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g

/** Tells the developer of something that is wrong: its code, and a text for people. Never throws. */
export type Warn = (code: string, text: string) => void

/** Names and reasons come from elsewhere, and must not forge a line. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * Tells the developer once, on the channel that the runtime has for warnings. Control characters are escaped. Never
 * throws.
 */
export function warn(code: string, text: string): void {
  const message = escapeControls(text)
  try {
    // Cloudflare Workers have one with `nodejs_compat`, which prints nothing.
    const isHeard = detectRuntime().jsRuntime !== 'cloudflare-worker'
    if (isHeard && typeof runtimeProcess?.emitWarning === 'function') {
      runtimeProcess.emitWarning(message, {
        type: 'TrackpostWarning',
        code: `TRACKPOST_${code.toUpperCase()}`,
      })
      return
    }
  } catch {
    // Edge functions of Next.js have one that throws.
  }
  try {
    console.warn(`trackpost: ${message}`)
  } catch {
    // A host that replaces its console with something that throws must not lose events by it.
  }
}
