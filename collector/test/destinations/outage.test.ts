import { expect, test } from 'vitest'
import { Outage } from '../../src/destinations/outage.ts'
import { fakeClock } from '../support.ts'

const DELIVERED = { result: 'delivered' } as const
const RETRY = { result: 'retry', reason: 'ECONNREFUSED' } as const
const REFUSED = { result: 'failed', reason: 'answered 400' } as const

function newOutage() {
  const clock = fakeClock()
  const reported: string[] = []
  const outage = new Outage('Hook', {
    clock,
    onFault: (what, cause) => void reported.push(`${what}: ${(cause as Error).message}`),
    onRecovery: (what, fault) => void reported.push(`${what}; over: ${fault}`),
  })
  return { clock, reported, outage }
}

test('a destination that accepts nothing for a while is reported once, and once when it is back', () => {
  const { clock, reported, outage } = newOutage()
  for (let attempt = 0; attempt < 5; attempt++) {
    outage.saw(RETRY)
    clock.advance(1000)
  }
  expect(reported).toEqual(['destination Hook is unavailable: ECONNREFUSED'])

  outage.saw(DELIVERED)
  outage.saw(DELIVERED)

  expect(reported.slice(1)).toEqual(['destination Hook is back; over: destination Hook is unavailable'])
})

test('a destination that fails now and then, or refuses an event because of its data, is not unavailable', () => {
  const { clock, reported, outage } = newOutage()
  for (const result of [RETRY, DELIVERED, RETRY, REFUSED, RETRY]) {
    outage.saw(result)
    clock.advance(1999)
  }

  expect(reported).toEqual([])
})

test('a problem that was passed to report() also ends with the next delivery', () => {
  const { clock, reported, outage } = newOutage()
  outage.report('destination Hook', new Error('wrong password'))
  outage.saw(RETRY)
  clock.advance(5000)
  outage.saw(RETRY)
  outage.saw(DELIVERED)

  expect(reported).toEqual([
    'destination Hook: wrong password',
    'destination Hook is back; over: destination Hook',
  ])
})
