import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { BodyBudget, type HeldBody } from '../src/http/body-budget.ts'
import type { HttpProblem } from '../src/http/reply.ts'
import { basic, fakeClock, openCollector, post, track } from './support.ts'

const KB = 1024

function budgetOf(kilobytes: number) {
  const clock = fakeClock()
  const budget = new BodyBudget(kilobytes * KB, clock)
  const problems = new Map<string, number>()
  const open = (name: string, sender = name): HeldBody =>
    budget.open(sender, ({ status }: HttpProblem) => void problems.set(name, status))
  return { clock, budget, problems, open }
}

test('when there is no room, the body with the least progress in the last second is cut with 408', () => {
  const { clock, budget, problems, open } = budgetOf(100)
  const [slow, fast] = [open('slow'), open('fast')]
  budget.add(slow, 60 * KB)
  clock.advance(3000)
  budget.add(fast, 30 * KB)

  expect(budget.add(fast, 20 * KB)).toBe(true)

  expect([...problems]).toEqual([['slow', 408]])
})

test('of bodies with the same progress, the newest is cut, and only as many as necessary', () => {
  const { clock, budget, problems, open } = budgetOf(100)
  for (const name of ['a', 'b', 'c', 'd']) budget.add(open(name), 24 * KB)
  clock.advance(3000)

  expect(budget.add(open('e'), 40 * KB)).toBe(true)

  expect([...problems.keys()]).toEqual(['d', 'c'])
})

test('a body that arrives more slowly than the others is cut itself', () => {
  const { budget, problems, open } = budgetOf(100)
  for (const name of ['large', 'other']) budget.add(open(name), 49 * KB)

  expect(budget.add(open('small'), 2 * KB)).toBe(false)

  expect([...problems]).toEqual([['small', 408]])
})

test('if all other bodies are complete, a body gets 503, until one of them is released', () => {
  const { budget, problems, open } = budgetOf(100)
  const complete = [open('complete'), open('complete too')]
  for (const body of complete) {
    budget.add(body, 45 * KB)
    budget.completed(body)
  }

  expect(budget.add(open('next'), 20 * KB)).toBe(false)
  budget.release(complete[0] as HeldBody)

  expect(budget.add(open('later'), 20 * KB)).toBe(true)
  expect([...problems]).toEqual([['next', 503]])
})

test('a sender that fills three quarters of the memory has no more room, and others have', () => {
  const { budget, problems, open } = budgetOf(100)
  const complete = open('complete', 'much')
  budget.add(complete, 70 * KB)
  budget.completed(complete)

  expect(budget.add(open('too much', 'much'), 10 * KB)).toBe(false)
  expect(budget.add(open('other', 'little'), 10 * KB)).toBe(true)
  expect(budget.add(open('first', 'much'), 2 * KB)).toBe(true)
  expect(budget.add(open('second', 'much'), 4 * KB)).toBe(true)

  expect([...problems]).toEqual([
    ['too much', 503],
    ['first', 408],
  ])
})

test('bodies are inflated in order when there is room, and one at any time', async () => {
  const { budget, open } = budgetOf(100)
  const started: string[] = []
  const bodies = ['a', 'b', 'c'].map((name) => {
    const body = open(name)
    void budget.inflate(body, 200 * KB).then(() => started.push(name))
    return body
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  await turn()
  expect(started).toEqual(['a'])

  budget.inflated(bodies[0] as HeldBody, 199 * KB)
  await turn()
  expect(started).toEqual(['a'])
  budget.release(bodies[0] as HeldBody)
  await turn()

  expect(started).toEqual(['a', 'b'])
})

async function openSocket(port: number): Promise<{ socket: Socket; answer: () => string }> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return { socket, answer: () => text }
}

const headers = (bytes: number, key = 'shop') =>
  `POST /v1/batch HTTP/1.1\r\nhost: localhost\r\nauthorization: ${basic(key)}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`

test('F150: bodies that stop arriving cannot fill the memory: some get 408, and another client gets 200', async () => {
  const collector = await openCollector()
  const part = 'x'.repeat(400_000)
  const slow = await Promise.all(Array.from({ length: 200 }, () => openSocket(collector.port)))
  for (const { socket } of slow) socket.write(headers(500_000) + part)
  const cut = () => slow.filter(({ answer }) => /^HTTP\/1\.1 408 .*"slow_body"/s.test(answer())).length

  // 80 MB do not fit into 64 MB.
  await expect.poll(cut).toBeGreaterThanOrEqual(30)

  const large = {
    batch: [track(), ...Array.from({ length: 20 }, () => track({ properties: { x: 'x'.repeat(20_000) } }))],
  }
  // In the first second, those that have stopped count as under way; a client repeats a 408.
  await expect
    .poll(async () => (await post(collector, '/v1/batch', large)).status, { timeout: 30_000, interval: 300 })
    .toBe(200)
  expect(cut()).toBeLessThan(200)
})

test('a wrong key in the header is refused before the body has arrived', async () => {
  const sources = [{ name: 'shop', writeKey: 'right' }]
  const collector = await openCollector({ config: { sources, rejectUnknownKeys: true } })
  const { socket, answer } = await openSocket(collector.port)

  socket.write(headers(500_000, 'wrong'))
  await once(socket, 'close')

  expect(answer()).toMatch(/^HTTP\/1\.1 401 .*"bad_credentials"/s)
  expect((await post(collector, '/v1/track', track(), { authorization: basic('right') })).status).toBe(200)
})

test('a request that waits to be inflated is answered when others have ended', async () => {
  const collector = await openCollector()
  const body = gzipSync(`{"batch":[${' '.repeat(490_000)}]}`)

  // Together, they have more than 64 MB when they are inflated.
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => post(collector, '/v1/batch', body, { 'content-encoding': 'gzip' })),
  )

  expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200))
})
