import { describe, expect, test, vi } from 'vitest'
import { currentScope, runWithScope } from '../../src/scope.ts'
import { createAnalytics } from '../support/create-analytics.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'

const warnings = catchProcessWarnings()

async function pause(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a running scope', () => {
  test('applies to the code in its function, after each await, and not outside', async () => {
    expect(currentScope()).toBeUndefined()

    const seen = await Promise.all(
      ['ada', 'Zoë', 'grace'].map((userId, index) =>
        runWithScope({ userId }, async () => {
          await pause(3 - index)
          const before = currentScope()?.userId
          await pause(index)
          return [before, currentScope()?.userId]
        }),
      ),
    )

    expect(seen).toEqual([
      ['ada', 'ada'],
      ['Zoë', 'Zoë'],
      ['grace', 'grace'],
    ])
    expect(currentScope()).toBeUndefined()
  })

  test('is merged with an outer scope in the same way as by analytics.with()', async () => {
    const outer = { anonymousId: 'v-7', userId: 'old', context: { ip: '192.0.2.1', page: { path: '/a' } } }
    const inner = { userId: 'ada', context: { page: { search: '?b' } }, integrations: { All: false } }
    const params = { event: 'Signed Up', context: { locale: 'de-CH' } }
    const setting = createAnalytics({ scope: currentScope })
    const tracker = createAnalytics()

    await runWithScope(outer, () =>
      runWithScope(inner, () => setting.analytics.promises.track(params as never)),
    )
    await tracker.analytics.with(outer).with(inner).promises.track(params)

    const [bySetting, byTracker] = [setting, tracker].map(({ client }) => client.requests[0]?.batch[0])
    expect(bySetting).toMatchObject({
      userId: 'ada',
      anonymousId: 'v-7',
      context: { ip: '192.0.2.1', page: { path: '/a', search: '?b' }, locale: 'de-CH' },
      integrations: { All: false },
    })
    const { messageId: _first, timestamp: _second, ...rest } = byTracker as never as Record<string, unknown>
    expect(bySetting).toMatchObject(rest)
  })

  test('leaves the outer scope unchanged when it ends, even by an error', () => {
    runWithScope({ userId: 'ada' }, () => {
      expect(() =>
        runWithScope({ userId: 'Zoë' }, () => {
          throw new RangeError('oups')
        }),
      ).toThrow(new RangeError('oups'))
      expect(currentScope()?.userId).toBe('ada')
    })
  })

  test('returns the result of the function, and copies the scope', () => {
    const scope = { context: { app: { version: '1' } } }

    const seen = runWithScope(scope, () => {
      scope.context.app.version = '2'
      return currentScope()
    })

    expect(seen?.context).toEqual({ app: { version: '1' } })
  })

  test('that throws when it is read causes one warning, and the outer scope stays', () => {
    const hostile = {
      get userId(): string {
        throw new Error('non')
      },
    }

    const seen = runWithScope({ userId: 'ada' }, () => runWithScope(hostile, currentScope))

    expect(seen?.userId).toBe('ada')
    expect(warnings).toEqual([expect.stringContaining('non')])
  })

  test.each([
    ['a promise', Promise.resolve({ userId: 'Zoë' })],
    ['a function', () => ({ userId: 'Zoë' })],
    ['a Map', new Map([['userId', 'Zoë']])],
    ['a string', 'Zoë'],
  ])('that is %s is reported and ignored', (given, scope) => {
    const seen = runWithScope({ userId: 'ada' }, () => runWithScope(scope as never, currentScope))

    expect(seen).toMatchObject({ userId: 'ada' })
    expect(warnings).toEqual([expect.stringContaining(`expected an object, got ${given}`)])
  })

  test.each([undefined, null])('that is %s is ignored silently', (scope) => {
    expect(runWithScope({ userId: 'ada' }, () => runWithScope(scope as never, currentScope))).toMatchObject({
      userId: 'ada',
    })
    expect(warnings).toEqual([])
  })

  test('is shared by two copies of the module', async () => {
    vi.resetModules()
    const other = await import('../../src/scope.ts')
    expect(other.currentScope).not.toBe(currentScope)

    expect(runWithScope({ userId: 'ada' }, other.currentScope)).toMatchObject({ userId: 'ada' })
  })
})
