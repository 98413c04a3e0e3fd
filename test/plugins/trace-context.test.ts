import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KINDS } from '../../src/message/wire.ts'
import { traceContext } from '../../src/plugins.ts'
import { createTestClient } from '../../src/testing.ts'

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(new BasicTracerProvider())
})
afterAll(() => {
  trace.disable()
  context.disable()
})

const signedUp = { userId: 'ada', event: 'Signed Up' }

function inSpan(run: () => unknown): { traceId: string; spanId: string } {
  return trace.getTracer('shop').startActiveSpan('checkout', (span) => {
    run()
    span.end()
    const { traceId, spanId } = span.spanContext()
    return { traceId, spanId }
  })
}

describe('with the SDK of OpenTelemetry', () => {
  test('each event gets the span that was active at its call', async () => {
    const { analytics, messages } = createTestClient()
    await analytics.register(traceContext(trace))

    const first = inSpan(() => {
      for (const kind of KINDS) analytics[kind]({ ...signedUp, groupId: 'g', previousId: 'p' } as never)
    })
    const second = inSpan(() => analytics.track(signedUp))
    await analytics.flush()

    expect(first.traceId).toMatch(/^[\da-f]{32}$/)
    expect(messages.map((message) => message.context['trace'])).toEqual([...KINDS.map(() => first), second])
    expect(second).not.toEqual(first)
  })

  test('without a span, or with a trace in the call, nothing changes', async () => {
    const { analytics, messages } = createTestClient()
    await analytics.register(traceContext(trace))

    analytics.track(signedUp)
    inSpan(() => analytics.track({ ...signedUp, context: { trace: 'mine' } }))
    const invalid = trace.wrapSpanContext({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 })
    context.with(trace.setSpan(context.active(), invalid), () => analytics.track(signedUp))
    await analytics.flush()

    expect(messages.map((message) => message.context['trace'])).toEqual([undefined, 'mine', undefined])
  })
})

test.each([undefined, null, {}, 'trace', { trace }])(
  'an object that is not the API is refused: %o',
  (given) => {
    expect(() => traceContext(given as never)).toThrow(
      "traceContext: trace: expected the trace of '@opentelemetry/api'",
    )
  },
)

test('options are checked', () => {
  expect(() => traceContext(trace, { nam: 'x' } as never)).toThrow("there is no option 'nam'")
})
