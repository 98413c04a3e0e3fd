import type { TokenMemory } from '../store/ports.ts'
import { systemClock } from '../system-clock.ts'
import type { Runner } from './runner.ts'

/**
 * Defines the tests that every storage for tokens has to pass.
 *
 * @param openTwo Makes an empty storage, and opens it twice, as two processes would.
 */
export function describeTokenMemory(
  { expect, test }: Pick<Runner, 'expect'> & { test(name: string, run: () => Promise<void>): void },
  openTwo: () => Promise<{ first: TokenMemory; second: TokenMemory }>,
): void {
  test('if several processes store the first or the next token keys at the same time, one succeeds', async () => {
    const { first, second } = await openTwo()
    const race = async (version: string | undefined, name: string) => {
      const versions = Array.from({ length: 10 }, (_, turn) =>
        (turn % 2 === 0 ? first : second).tokenKeys.replace(version, `${name} ${turn}`),
      )
      return (await Promise.all(versions)).filter((one) => one !== undefined)
    }

    expect(await first.tokenKeys.read()).toBeUndefined()
    const begun = await race(undefined, 'größer')
    const one = await first.tokenKeys.read()
    const next = await race(begun[0], 'next')
    const two = await second.tokenKeys.read()

    expect([begun, next]).toEqual([[one?.version], [two?.version]])
    expect([one?.text, two?.text]).toEqual([
      expect.stringMatching(/^größer \d$/),
      expect.stringMatching(/^next \d$/),
    ])
    expect(await first.tokenKeys.replace(begun[0], 'late')).toBeUndefined()
    expect(await first.tokenKeys.replace(undefined, 'late')).toBeUndefined()
    expect(await first.tokenKeys.read()).toEqual(two)
  })

  test('if several processes use an assertion at the same time, one succeeds', async () => {
    const { first, second } = await openTwo()
    const nowMs = systemClock.now()
    const use = (jti: string) =>
      Promise.all(
        Array.from({ length: 10 }, (_, turn) =>
          (turn % 2 === 0 ? first : second).assertions.use(jti, nowMs + 65_000, nowMs),
        ),
      )

    const used = await Promise.all(['app größer.*>', `app ${'x'.repeat(256)}`].map(use))

    expect(used.map((some) => some.filter(Boolean))).toEqual([[true], [true]])
  })
}
