import { detectRuntime, runtimeProcess } from './detect.ts'

/** Characters that could forge a log line, or colour it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g

/** Warns the developer, with a code and a text. Never throws. */
export type Warn = (code: string, text: string) => void

/** Escapes control characters: names and reasons come from outside, and must not forge a log line. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * Warns the developer through the channel that the runtime has for warnings. Control characters are escaped. Never throws.
 */
export function warn(code: string, text: string): void {
  const message = escapeControls(text)
  try {
    // Cloudflare Workers have `emitWarning` with `nodejs_compat`, but it prints nothing.
    const isHeard = detectRuntime().jsRuntime !== 'cloudflare-worker'
    if (isHeard && typeof runtimeProcess?.emitWarning === 'function') {
      runtimeProcess.emitWarning(message, {
        type: 'TrackpostWarning',
        code: `TRACKPOST_${code.toUpperCase()}`,
      })
      return
    }
  } catch {
    // The `emitWarning` of Next.js edge functions throws.
  }
  try {
    console.warn(`trackpost: ${message}`)
  } catch {
    // The console may be mocked and throw: that must not cost events.
  }
}
