import { isThenable } from '../errors/guard.ts'
import { describe } from '../message/describe.ts'
import type { Context, ContextEvent } from '../pipeline/context.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { mistake, requireName, requireOptions } from './options.ts'

/** Options of {@link filter}. */
export interface FilterOptions {
  /** Name of the plugin. Default: `filter`. */
  name?: string | undefined
}

/**
 * Makes a `before` plugin that keeps only the events for which `predicate` returns `true`. All others fail with the code
 * `plugin`, also if `predicate` throws, takes longer than 5 s or does not return a boolean.
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
