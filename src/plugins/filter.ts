import { isThenable } from '../errors/guard.ts'
import { describe } from '../message/describe.ts'
import type { Context, ContextEvent } from '../pipeline/context.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { mistake, requireName, requireOptions } from './options.ts'

/** Options of {@link filter}, beside the function. */
export interface FilterOptions {
  /** Default: `filter`. */
  name?: string | undefined
}

/**
 * A `before` plugin that lets only those events of any kind through for which `predicate` returns `true`. The others fail
 * with `plugin`, and so does an event for which `predicate` throws, takes longer than 5 s or returns anything but a
 * boolean, so that a missing `return` does not let everything through.
 *
 * @throws TypeError for bad arguments.
 * @example
 * await analytics.register(filter(({ context }) => context.consent !== false))
 */
export function filter(
  predicate: (event: ContextEvent) => boolean | PromiseLike<boolean>,
  options: FilterOptions = {},
): Plugin {
  if (typeof predicate !== 'function') throw mistake('filter', 'predicate', 'a function', predicate)
  requireOptions('filter', options, ['name'])
  const decide = (ctx: Context, passes: unknown): void => {
    if (passes === false) ctx.cancel('the filter refused it')
    if (passes !== true) throw new TypeError(`expected true or false, got ${describe(passes)}`)
  }
  return {
    name: requireName('filter', options.name ?? 'filter'),
    type: 'before',
    all(ctx) {
      const passes: unknown = predicate(ctx.event)
      if (isThenable(passes)) return passes.then((late) => decide(ctx, late))
      return decide(ctx, passes)
    },
  }
}
