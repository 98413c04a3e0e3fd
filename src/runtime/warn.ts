import { detectRuntime, runtimeProcess } from './detect.ts'

/** Characters with which a text could fake a log line or change its colour. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches control characters
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g

/** Warns the developer, with a code and a text. Never throws. */
export type Warn = (code: string, text: string) => void

/** Escapes control characters, so that names and reasons from outside cannot fake a log line. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * Warns the developer with a process warning, or on the console if the runtime has no process warnings. Control characters are
 * escaped. Never throws.
 */
export function warn(code: string, text: string): void {
  const message = escapeControls(text)
  try {
    // Cloudflare Workers have `emitWarning` with `nodejs_compat`, but the function prints nothing.
    const isHeard = detectRuntime().jsRuntime !== 'cloudflare-worker'
    if (isHeard && typeof runtimeProcess?.emitWarning === 'function') {
      runtimeProcess.emitWarning(message, {
        type: 'TrackpostWarning',
        code: `TRACKPOST_${code.toUpperCase()}`,
      })
      return
    }
  } catch {
    // In edge functions of Next.js, `emitWarning` throws.
  }
  try {
    console.warn(`trackpost: ${message}`)
  } catch {
    // The console may be mocked and throw. That must not lose an event.
  }
}
