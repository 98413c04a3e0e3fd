import { describe } from '../message/describe.ts'
import type { ContextEvent } from '../pipeline/context.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { mistake, requireOptions } from './options.ts'

/** Options of {@link sample}. */
export interface SampleOptions {
  /** The fraction of events that is kept, from 0 to 1. */
  rate: number
  /**
   * Returns the key that decides whether an event is kept: all events with the same key are kept, or none. An event with the key
   * `undefined` or `null` is kept. Default: the `userId`, or the `anonymousId` if there is none.
   */
  by?: ((event: ContextEvent) => string | number | null | undefined) | undefined
}

/**
 * Makes a `before` plugin that keeps a fraction of the events; the others fail with the code `plugin`. Only the key decides:
 * the same users are kept in each process and with each version of this package, and a higher rate keeps them too.
 *
 * @throws TypeError for bad options.
 * @example
 * await analytics.register(sample({ rate: 0.1 }))
 */
export function sample(options: SampleOptions): Plugin {
  requireOptions('sample', options, ['rate', 'by'])
  const { rate, by = userOf } = options
  if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1)) {
    throw mistake('sample', 'rate', 'a number from 0 to 1', rate)
  }
  if (typeof by !== 'function') throw mistake('sample', 'by', 'a function', by)
  return {
    name: 'sample',
    type: 'before',
    all(ctx) {
      const key: unknown = by(ctx.event)
      if (key === undefined || key === null) return
      if (typeof key !== 'string' && typeof key !== 'number') {
        throw new TypeError(`expected a text or a number from by, got ${describe(key)}`)
      }
      if (shareOf(String(key)) >= rate) ctx.cancel(`it is not among the sample of ${rate}`)
    },
  }
}

function userOf({ userId, anonymousId }: ContextEvent): string | undefined {
  return userId ?? anonymousId
}

/** FNV-1a, then the finaliser of MurmurHash3, in [0, 1). Must never change, because the users in the samples would change too. */
export function shareOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 4_294_967_296
}
