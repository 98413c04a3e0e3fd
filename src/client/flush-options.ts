import type { FlushCallback, FlushOptions } from './events.ts'

/** Options that throw when they are read are none. */
export function readOptions(options: FlushOptions | FlushCallback | null): FlushOptions {
  if (typeof options !== 'object' || options === null) return {}
  try {
    const { close, timeout } = options
    return { ...(close !== undefined && { close }), ...(timeout !== undefined && { timeout }) }
  } catch {
    return {}
  }
}
