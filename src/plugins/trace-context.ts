import type { Plugin } from '../pipeline/plugin.ts'
import { mistake, requireName, requireOptions } from './options.ts'

/** The part of `trace` of `@opentelemetry/api` that is used. Declared here because not every project has its types. */
export interface TraceAPI {
  /** The span of the code that runs. */
  getActiveSpan(): { spanContext(): { readonly traceId: string; readonly spanId: string } } | undefined
}

/** Options of {@link traceContext}. */
export interface TraceContextOptions {
  /** Default: `trace-context`. */
  name?: string | undefined
}

/** The trace id of a span that belongs to no trace: W3C Trace Context, section 3.2.2. */
const NO_TRACE = /^0+$/

/**
 * An `enrichment` plugin that puts the ids of the OpenTelemetry span that was active at the call into the context of the
 * event, of any kind: `context.trace` is `{ traceId, spanId }`, in lower-case hexadecimal. The event does not change if no
 * span is active, or if the call has a `context.trace` of its own.
 *
 * @param trace `trace` of `@opentelemetry/api`, 1.3 or later. Passed in, so that this package does not depend on it.
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
