import type { Plugin } from '../pipeline/plugin.ts'
import { mistake, requireName, requireOptions } from './options.ts'

/** The part of OpenTelemetry's `trace` that this plugin uses, declared here because not every project has its types. */
export interface TraceAPI {
  /** Returns the span of the code that runs now. */
  getActiveSpan(): { spanContext(): { readonly traceId: string; readonly spanId: string } } | undefined
}

/** Options of {@link traceContext}. */
export interface TraceContextOptions {
  /** Name of the plugin. Default: `trace-context`. */
  name?: string | undefined
}

/** The invalid trace id of a span that belongs to no trace (W3C Trace Context, section 3.2.2). */
const NO_TRACE = /^0+$/

/**
 * Makes an `enrichment` plugin that sets `context.trace` of each event to `{ traceId, spanId }`: the ids, in lower-case
 * hexadecimal, of the OpenTelemetry span that was active at the call. The event does not change if no span was active, or if it
 * already has a `context.trace`.
 *
 * @param trace `trace` of `@opentelemetry/api` 1.3 or later.
 * @throws TypeError for bad arguments.
 * @example
 * import { trace } from '@opentelemetry/api'
 * await analytics.register(traceContext(trace))
 */
export function traceContext(trace: TraceAPI, options: TraceContextOptions = {}): Plugin {
  if (typeof (trace as Partial<TraceAPI> | null | undefined)?.getActiveSpan !== 'function') {
    throw mistake('traceContext', 'trace', "the trace of '@opentelemetry/api'", trace)
  }
  requireOptions('traceContext', options, ['name'])
  return {
    name: requireName('traceContext', options.name ?? 'trace-context'),
    type: 'enrichment',
    all(ctx) {
      if (ctx.event.context['trace'] !== undefined) return
      const span = trace.getActiveSpan()?.spanContext()
      if (span === undefined || NO_TRACE.test(span.traceId)) return
      ctx.updateEvent('context.trace', { traceId: span.traceId, spanId: span.spanId })
    },
  }
}
