import { describe } from '../message/describe.ts'
import type { ContextEvent } from '../pipeline/context.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { mistake, requireName, requireOptions } from './options.ts'

/** Options of {@link sample}. */
export interface SampleOptions {
  /** Default: `sample`. */
  name?: string | undefined
  /** The share that is kept, from 0 to 1. */
  rate: number
  /**
   * The unit that is kept or left out as a whole. `user`: all events of a user, by `userId`, else by `anonymousId`.
   * `message`: each event on its own. A function returns your own key, a text or a number; an event without a key
   * (`undefined`, `null`) is kept. Default: `user`.
   */
  by?: 'user' | 'message' | ((event: ContextEvent) => string | number | null | undefined) | undefined
}

/**
 * A `before` plugin that keeps a share of the events of any kind; the others fail with `plugin`. Only the key decides: the
 * same users are kept in each process and each version, and a higher rate keeps them too, with others.
 *
 * @throws TypeError for bad options.
 * @example
 * await analytics.register(sample({ rate: 0.1 }))
 */
export function sample(options: SampleOptions): Plugin {
  requireOptions('sample', options, ['name', 'rate', 'by'])
  const { name = 'sample', rate, by = 'user' } = options
  if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1)) {
    throw mistake('sample', 'rate', 'a number from 0 to 1', rate)
  }
  if (by !== 'user' && by !== 'message' && typeof by !== 'function') {
    throw mistake('sample', 'by', "'user', 'message' or a function", by)
  }
  const keyOf = typeof by === 'function' ? by : by === 'user' ? userOf : messageOf
  return {
    name: requireName('sample', name),
    type: 'before',
    all(ctx) {
      const key: unknown = keyOf(ctx.event)
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

function messageOf({ messageId }: ContextEvent): string {
  return messageId
}

/**
 * Hashes a text to a number in [0, 1), evenly distributed: FNV-1a over its UTF-16 units, mixed as in MurmurHash3. It must
 * never change, or users would enter and leave samples.
 */
export function shareOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 4_294_967_296
}
