import type { Plugin } from '../pipeline/plugin.ts'
import { mistake, requireName, requireOptions } from './options.ts'

/** Options of {@link rename}. */
export interface RenameOptions {
  /** Name of the plugin. Default: `rename`. */
  name?: string | undefined
}

/**
 * Makes a `before` plugin that gives `track` events new names. Names that are not listed stay. Each name is replaced only once,
 * so two names can be swapped.
 *
 * @param names The new name for each old name. A new name must not be empty.
 * @throws TypeError for bad arguments.
 * @example
 * await analytics.register(rename({ order_completed: 'Order Completed' }))
 */
export function rename(names: Readonly<Record<string, string>>, options: RenameOptions = {}): Plugin {
  requireOptions('rename', options, ['name'])
  if (typeof names !== 'object' || names === null || Array.isArray(names)) {
    throw mistake('rename', 'names', 'an object', names)
  }
  const newNames = new Map<unknown, string>(
    Object.entries(names).map(([from, to]) => {
      if (typeof to !== 'string' || to === '') throw mistake('rename', from, 'a non-empty string', to)
      return [from, to]
    }),
  )
  return {
    name: requireName('rename', options.name ?? 'rename'),
    type: 'before',
    track(ctx) {
      const newName = newNames.get(ctx.event.event)
      if (newName !== undefined) ctx.event.event = newName
    },
  }
}
