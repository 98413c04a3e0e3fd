import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabaseFile } from './support/process.ts'
import { openCollector, post, track } from './support.ts'

const fails = (what: string) => {
  throw new Error(what)
}

test.each([
  ['throws', fails],
  ['rejects', async (what: string) => fails(what)],
])('a collector whose listener %s warns and goes on', async (_how, onFault) => {
  const told: string[] = []
  const listen = ({ name, message }: Error) =>
    void (name === 'TrackpostCollectorWarning' && told.push(message))
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  const path = newDatabaseFile()
  const collector = await openCollector({ store: path, onFault })

  rmSync(path)
  await post(collector, '/v1/track', track())

  await expect.poll(() => told).toContain('onFault of the collector threw: the database cannot write')
  expect((await fetch(`${collector.url}/api/stats`)).status).toBe(200)
})
