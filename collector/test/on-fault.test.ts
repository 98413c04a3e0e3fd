import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { safeOnFault } from '../src/on-fault.ts'
import { newDatabaseFile } from './support/process.ts'
import { openCollector, post, track } from './support.ts'

function warnings(): string[] {
  const told: string[] = []
  const listen = ({ name, message }: Error) =>
    void (name === 'TrackpostCollectorWarning' && told.push(message))
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  return told
}

test('a listener that throws or rejects causes a warning, and no exception reaches the caller', async () => {
  const told = warnings()
  const throwing = safeOnFault(() => {
    throw new Error('no such line')
  })
  const rejecting = safeOnFault(async () => {
    throw new Error('too late')
  })

  throwing('the store is unavailable', new Error('refused'))
  rejecting('the store is unavailable', new Error('refused'))

  await expect
    .poll(() => told)
    .toEqual(['onFault of the collector threw: no such line', 'onFault of the collector threw: too late'])
})

test('a collector continues if its listener throws', async () => {
  const told = warnings()
  const path = newDatabaseFile()
  const collector = await openCollector({
    store: path,
    onFault: (what) => {
      throw new Error(what)
    },
  })

  rmSync(path)
  await post(collector, '/v1/track', track())

  await expect.poll(() => told.join()).toContain('the database cannot write')
  expect((await fetch(`${collector.url}/api/stats`)).status).toBe(200)
})
