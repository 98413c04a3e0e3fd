import { DeliveryError } from '../errors/errors.ts'
import type { Core } from './core.ts'
import type { Item } from './item.ts'
import { errorInTrouble, settle } from './settle.ts'
import { extract } from './waiting.ts'

/**
 * Gives the events of the calls up to this number their outcome, wherever they are: those that the journal has are deferred.
 * Requests that carry no other events are aborted.
 */
export function abandon(core: Core, upTo: number, message: string): void {
  const { inPlugins, inFlight, pipeline, journal } = core
  const isLeft = ({ seq }: Item): boolean => seq <= upTo
  // All are taken out before the first outcome is told: a callback may flush, or track again.
  const items = [...inPlugins].filter(isLeft)
  for (const item of items) inPlugins.delete(item)
  pipeline.abandon(items)
  items.push(...extract(core, isLeft))
  for (const request of [...inFlight]) {
    const { batch } = request
    items.push(...batch.items.filter(isLeft))
    batch.items = batch.items.filter((item) => !isLeft(item))
    if (batch.items.length > 0) continue
    inFlight.delete(request)
    request.abort(new Error('the client was closed'))
  }
  // The journal looks whether its files are still there.
  journal?.append([])
  const kept = items.filter(({ record }) => record?.isKept === true)
  const lost = items.filter(({ record }) => record?.isKept !== true)
  // Errors are made only where they are told, because their stack traces are costly.
  const error = lost.length === 0 ? undefined : errorInTrouble(core, 'shutdown_timeout', message)
  if (kept.length > 0)
    settle(core, kept, new DeliveryError('deferred', 'the client was closed; the event is in the spool'))
  settle(core, lost, error)
  for (const one of core.leaving) {
    if (![...one.items].some((item) => inPlugins.has(item))) {
      core.leaving.delete(one)
      one.resolve()
    }
  }
}
