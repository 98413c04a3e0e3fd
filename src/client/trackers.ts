import { accept } from '../core/accept.ts'
import type { Core } from '../core/core.ts'
import type { FlushSummary } from '../core/counts.ts'
import { flush, limitOf } from '../core/flush.ts'
import type { DeliveryError } from '../errors/errors.ts'
import type { FlushOptions } from '../events/events.ts'
import { mergeScopes, type Scope } from '../message/scope.ts'
import type { GroupTraits, UserTraits } from '../message/shapes.ts'
import type { AnyEvents, Kind, ScopedIdentity } from '../message/types.ts'
import type { Context } from '../pipeline/context.ts'
import type { Tracker, TrackerPromises } from '../pipeline/tracker.ts'

/** The six calls with the defaults of a scope. Uses the queue and connections of its client. Methods may be detached. */
export interface ScopedTracker<Events = AnyEvents, User = UserTraits, Group = GroupTraits>
  extends Tracker<Events, User, Group, ScopedIdentity> {
  /** The six calls as promises, with the defaults of this scope. */
  readonly promises: TrackerPromises<Events, User, Group, ScopedIdentity>
  /** Creates a scope inside this scope. Where both have a value, the inner value wins. */
  with(scope: Scope): ScopedTracker<Events, User, Group>
  /** Flushes the whole client, as `analytics.flush()` does. */
  flush(options?: Pick<FlushOptions, 'timeout'>): Promise<FlushSummary>
}

export function createScope<Events, User, Group>(
  core: Core,
  outer: Scope | undefined,
  scope: Scope,
): ScopedTracker<Events, User, Group> {
  let defaults = outer
  try {
    defaults = mergeScopes(outer, scope)
  } catch (error) {
    // No event may be lost because of its scope.
    core.observer.onUserError('scope', error)
  }
  let promises: ScopedTracker<Events, User, Group>['promises'] | undefined
  // Written out, because a program may make a scope for each request: made in a loop over the kinds, it would cost five times as much.
  return {
    identify: (params, callback) => accept(core, 'identify', params, callback, defaults),
    track: (params, callback) => accept(core, 'track', params, callback, defaults),
    page: (params, callback) => accept(core, 'page', params, callback, defaults),
    screen: (params, callback) => accept(core, 'screen', params, callback, defaults),
    group: (params, callback) => accept(core, 'group', params, callback, defaults),
    alias: (params, callback) => accept(core, 'alias', params, callback, defaults),
    get promises() {
      if (promises === undefined) promises = createPromises(core, defaults)
      return promises
    },
    with: (inner) => createScope(core, defaults, inner),
    flush: (options: Pick<FlushOptions, 'timeout'> = {}) =>
      flush(core, limitOf(core, readOptions(options).timeout)),
  }
}

export function createPromises<Events, User, Group, Who>(
  core: Core,
  defaults?: Scope,
): TrackerPromises<Events, User, Group, Who> {
  const submit = (kind: Kind, params: unknown): Promise<Context> =>
    new Promise((resolve, reject) => {
      const callback = (error: DeliveryError | undefined, ctx: Context | undefined): void => {
        if (error === undefined) resolve(ctx as Context)
        else reject(error)
      }
      accept(core, kind, params, callback, defaults, true)
    })
  return {
    identify: (params) => submit('identify', params),
    track: (params) => submit('track', params),
    page: (params) => submit('page', params),
    screen: (params) => submit('screen', params),
    group: (params) => submit('group', params),
    alias: (params) => submit('alias', params),
  }
}

/** Anything but an object counts as no options. */
export function readOptions(options: FlushOptions | null): FlushOptions {
  return typeof options === 'object' && options !== null ? options : {}
}
