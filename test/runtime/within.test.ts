import { expect, test } from 'vitest'
import { within } from '../../src/runtime/clock.ts'
import { FakeClock } from '../support/fake-clock.ts'

test('work that settles in time gives its result, and leaves no timer', async () => {
  const clock = new FakeClock()

  const resolved = await within(Promise.resolve('late train'), 1_000, clock, 'the train').result
  const rejected = within(Promise.reject(new Error('derailed')), 1_000, clock, 'the train').result

  expect(resolved).toBe('late train')
  await expect(rejected).rejects.toThrow('derailed')
  expect(clock.timerCount).toBe(0)
})

test('work that never settles is given up at its time limit, not earlier', async () => {
  const clock = new FakeClock()
  const problems: unknown[] = []
  within(new Promise(() => {}), 1_000, clock, 'the train').result.catch((error) => problems.push(error))

  await clock.advance(999)
  expect(problems).toEqual([])
  await clock.advance(1)

  expect(problems).toEqual([
    Object.assign(new Error('the train took longer than 1000 ms'), { name: 'TimeoutError' }),
  ])
})

test('a wait that is cancelled leaves no timer', async () => {
  const clock = new FakeClock()
  const { result, cancel } = within(new Promise(() => {}), 1_000, clock, 'the train')

  cancel(new Error('closed'))

  await expect(result).rejects.toThrow('closed')
  expect(clock.timerCount).toBe(0)
})

// docs/faults.md, row F18.
test('work that ends while the process is suspended counts as in time', async () => {
  const clock = new FakeClock()
  let arrive = (_train: string): void => {}
  const work = new Promise<string>((resolve) => {
    arrive = resolve
  })
  const { result } = within(work, 1_000, clock, 'the train')

  clock.stall(60_000)
  await clock.advance(0)
  arrive('late train')

  expect(await result).toBe('late train')
  expect(clock.timerCount).toBe(0)
})
