import { abandonUpTo } from './close.ts'
import type { Core } from './core.ts'
import { flush } from './flush.ts'

/** Cloudflare Workers end what was handed over 30 s after the response. */
const HAND_OVER_MS = 25_000
const MESSAGE = `it was still waiting ${HAND_OVER_MS / 1_000} s after it was handed to waitUntil`

/**
 * With `waitUntil`: what is tracked in one turn is flushed together, and the promise is handed to the platform.
 *
 * @see docs/spec.md, section 8.3
 */
export function handOverTurn(core: Core, waitUntil: (promise: Promise<unknown>) => void): void {
  if (core.isTurnHandedOver) return
  core.isTurnHandedOver = true
  const flushed = Promise.resolve().then(() => {
    core.isTurnHandedOver = false
    if (!core.isHandedOver) return flush(core, undefined)
    const upTo = core.counts.accepted
    return flush(core, HAND_OVER_MS, { isPatient: true, onTimeout: () => abandonUpTo(core, upTo, MESSAGE) })
  })
  core.warnings.guard('wait_until', () => waitUntil(flushed))
}
