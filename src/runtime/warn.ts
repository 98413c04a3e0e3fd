import { detectRuntime, runtimeProcess } from './detect.ts'

/** Characters with which a text could fake a log line or change its colour. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches control characters
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g

/** Never throws. */
export type Warn = (code: string, text: string) => void

export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Shows a process warning, or writes to the console if the runtime has no process warnings. Never throws. */
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

/** Writes one line at once, for the end of the process, when warnings come too late. Never throws. */
export function tellStderr(text: string): void {
  try {
    console.error(`trackpost: ${escapeControls(text)}`)
  } catch {
    // The console may be mocked and throw.
  }
}
