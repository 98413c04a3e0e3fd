import { expect, onTestFinished, test } from 'vitest'
import { tail } from '../../src/cli/tail.ts'
import { openCollector, post, track } from '../support.ts'

function follow(address: string, options: { q?: string; isJson?: boolean; token?: string } = {}) {
  const lines: string[] = []
  const told: string[] = []
  const end = new AbortController()
  onTestFinished(() => end.abort())
  const { q = '', isJson = false, token } = options
  const write = (line: string) => void lines.push(line)
  const ended = tail({
    address,
    q,
    isJson,
    token,
    write,
    tell: (line) => told.push(line),
    signal: end.signal,
  })
  return { lines, told, ended, end: () => end.abort() }
}

test('events that arrive are printed, and those before are not', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'Before' }))
  const { lines, end, ended } = follow(collector.url, { q: 'user:ada' })

  await expect
    .poll(async () => {
      await post(
        collector,
        '/v1/track',
        track({ event: 'Order \u001b[31m', userId: 'ada', properties: { total: 9 } }),
      )
      await post(collector, '/v1/track', track({ event: 'Other', userId: 'bob' }))
      return lines.length
    })
    .toBeGreaterThan(0)
  end()

  expect(await ended).toBe(0)
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}accepted {2}track Order {2}\[31m {2}ada {2}total=9\n$/)
  expect(lines.join('')).not.toMatch(/Other|Before/)
})

test('a wrong search line and a missing token end the command with a sentence', async () => {
  const collector = await openCollector({ adminToken: 'correct-token' })

  const wrong = follow(collector.url, { q: 'nofield:1', token: 'correct-token' })
  expect(await wrong.ended).toBe(1)
  expect(wrong.told.join()).toMatch(/no field is named "nofield"/)
  const refused = follow(collector.url)
  expect(await refused.ended).toBe(1)
  expect(refused.told).toEqual(['the admin token is needed\n'])
})
