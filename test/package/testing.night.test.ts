import { mkdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileSnippets } from './compile-snippets.ts'
import { createProject, type Project, REPOSITORY, type Result, run, runTool } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await createProject()
  for (const name of [
    'vitest',
    'mocha',
    'jest',
    'msw',
    '@jest/globals',
    '@sinonjs/fake-timers',
    'expect',
    '@types/node',
  ]) {
    const target = join(project.folder, 'node_modules', name)
    await mkdir(dirname(target), { recursive: true })
    await symlink(join(REPOSITORY, 'node_modules', name), target)
  }
  await project.add('test/package/runners/suite.cjs')
  await project.add('test/testing/matcher-cases.cjs')
})
afterAll(() => project?.remove())

/** No runner is told to exit, so each ends only if the tests leave no timer or socket open. */
const RUNNERS: Record<string, { file: string; tests: number; run: (file: string) => Promise<Result> }> = {
  'node:test': {
    file: 'node.test.mjs',
    tests: 12,
    run: (file) => run(process.execPath, ['--test', file], project.folder),
  },
  mocha: {
    file: 'mocha.spec.cjs',
    tests: 12,
    run: (file) => runTool('mocha', [file], project.folder),
  },
  jest: {
    file: 'jest.test.cjs',
    tests: 81,
    run: (file) => runJest(file, ['--detectOpenHandles']),
  },
  vitest: {
    file: 'vitest.test.mjs',
    tests: 12,
    run: (file) => runTool('vitest', ['run', '--root', project.folder, file], project.folder),
  },
}

function passed(output: string): number {
  const match = /# pass (\d+)|(\d+) passing|Tests:\s+(\d+) passed|Tests\s+(\d+) passed/.exec(output)
  return Number(match?.slice(1).find((count) => count !== undefined) ?? 0)
}

describe.each(Object.entries(RUNNERS))('%s', (_name, { file, tests, run }) => {
  test('runs the test kit, with fake timers and without, and ends by itself', async () => {
    const path = await project.add(`test/package/runners/${file}`)

    const { code, output } = await run(path)

    expect(output).not.toMatch(/open handle|did not exit|failed/i)
    expect({ code, passed: passed(output) }, output).toEqual({ code: 0, passed: tests })
  })
})

/** Runs a test file of Jest. */
function runJest(path: string, flags: string[] = [], env = {}): Promise<Result> {
  const folders = ['--rootDir', project.folder, '--cacheDirectory', join(project.folder, 'jest')]
  const jest = join(REPOSITORY, 'node_modules/.bin/jest')
  return run(jest, [...folders, ...flags, '--runTestsByPath', path], project.folder, env)
}

test('an automock in Jest has the methods, and the mock that the guide names is a test client', async () => {
  const guide = await readFile(join(REPOSITORY, 'docs/testing.md'), 'utf8')
  const [mock] = /jest\.mock\('\.\/analytics', .*\(\)\)(?=`)/.exec(guide) ?? ['']
  await project.write(
    'analytics.js',
    `const { Analytics } = require('trackpost')
    exports.analytics = new Analytics({ writeKey: 'k' })`,
  )
  const guided = await project.write(
    'guided.test.cjs',
    `${mock}
    test('is sent', async () => {
      const { analytics, messages } = require('./analytics')
      await analytics.promises.track({ userId: 'ada', event: 'Signed Up' })
      expect(messages).toHaveLength(1)
    })`,
  )
  const automocked = await project.write(
    'automocked.test.cjs',
    `jest.mock('trackpost')
    test('records calls', async () => {
      const { analytics } = require('./analytics')
      analytics.track({ userId: 'ada', event: 'Signed Up' })
      await analytics.closeAndFlush()
      expect(analytics.track).toHaveBeenCalledTimes(1)
      expect(analytics.promises).toBeUndefined()
    })`,
  )

  for (const path of [guided, automocked]) {
    const { code, output } = await runJest(path)
    expect({ code, passed: passed(output) }, output).toEqual({ code: 0, passed: 1 })
  }
})

test('handlers of msw run in Jest in an ES module, with the option that the guide names', async () => {
  const path = await project.write(
    'msw.test.mjs',
    `import { setupServer } from 'msw/node'
    import { Analytics } from 'trackpost'
    import { handlers } from 'trackpost/msw'
    test('is sent', async () => {
      const names = []
      const server = setupServer(...handlers({ onMessage: ({ event }) => names.push(event) }))
      server.listen()
      const analytics = new Analytics({ writeKey: 'test' })
      analytics.track({ userId: 'ada', event: 'Signed Up' })
      await analytics.closeAndFlush()
      server.close()
      expect(names).toEqual(['Signed Up'])
    })`,
  )
  const guide = await readFile(join(REPOSITORY, 'docs/testing.md'), 'utf8')
  const [, options] = /`NODE_OPTIONS=(\S+) npx jest`/.exec(guide) ?? []

  const { code, output } = await runJest(path, [], { NODE_OPTIONS: options })

  expect({ code, passed: passed(output) }, output).toEqual({ code: 0, passed: 1 })
})

const HEADER = `import { Analytics } from 'trackpost'
import { handlers } from 'trackpost/msw'
import { createTestClient, matchers, type TrackpostMatchers } from 'trackpost/testing'
interface Events {
  'Signed Up': undefined
  'Order Completed': { total: number; placedAt?: Date; items?: { sku: string }[] }
}
const client = createTestClient<Events, { plan: 'free' | 'pro' }, { seats: number }>()
const loose = createTestClient()
export { Analytics, client, loose, matchers, handlers, type TrackpostMatchers }
`
const WITH_VITEST = `import { expect } from 'vitest'\nexpect.extend(matchers)\n`
const WITH_JEST = `import { expect } from '@jest/globals'
declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T> extends TrackpostMatchers<R, T> {}
}
expect.extend(matchers)\n`

const ACCEPTED: Record<string, string> = {
  'the messages that find returns': `
    const orders = client.find({ event: 'Order Completed' })
    const totals: number[] = orders.map(({ properties }) => properties.total)
    const dates: (string | undefined)[] = orders.map(({ properties }) => properties.placedAt)
    const plan: 'free' | 'pro' | undefined = client.find({ type: 'identify' })[0]?.traits.plan
    const later: Promise<'Signed Up'> = client.waitFor({ event: 'Signed Up' }, { timeout: 1 }).then(({ event }) => event)
    console.log(totals, dates, plan, later)`,
  'a message narrowed by its kind': `
    for (const message of client.messages) {
      if (message.type === 'track' && message.event === 'Order Completed') message.properties.total.toFixed()
      if (message.type === 'group') message.traits.seats.toFixed()
      if (message.type === 'alias') message.previousId.trim()
    }`,
  'filters of every form': `
    client.find({ userId: 'ada' })
    client.find({ type: 'track', userId: 'ada' })
    client.find({ event: 'Order Completed', properties: { items: [{ sku: 'a' }] } })
    client.find((message) => message.type === 'page' && message.name === 'Pricing')
    client.find({ context: { ip: '::1' } })
    client.find({ asymmetricMatch: (message: { userId?: string }) => message.userId === 'ada' })
    client.find((message) => message.type === 'page')
    loose.find({ event: 'Anything', properties: { a: 1 } })[0]?.properties['a']`,
  'a typed client for a function that takes a client': `
    const checkout = (analytics: Analytics<Events, { plan: 'free' | 'pro' }, { seats: number }>): unknown => analytics
    checkout(client.analytics)
    client.failNext({ status: 503, retryAfter: 1, times: Infinity })`,
  'matchers of Vitest': `${WITH_VITEST}
    expect(client).toHaveTracked('Order Completed', { properties: { total: 1 }, userId: 'ada' })
    expect(client).toHaveTracked('Order Completed', { properties: { total: expect.any(Number) } })
    expect(client.analytics).not.toHaveTracked('Signed Up')
    expect(client).toHaveTrackedTimes('Order Completed', 1, { properties: { total: 1 } })
    expect(client).toHaveTracked(expect.stringMatching(/^Order /), { userId: 'ada' })
    expect(client).toHaveIdentified({ traits: { plan: 'pro' } })
    expect(client).toHaveTracked('Order Completed', expect.objectContaining({ userId: 'ada' }))
    expect(client).toHaveGrouped({ groupId: 'g' })
    expect(client).toHaveFailed('Order Completed', { code: 'rejected', properties: { total: 1 } })
    const codes: string[] = client.failures.map(({ code, message }) => \`\${code} \${message?.type}\`)
    console.log(codes)
    expect(loose.messages).toHaveTracked('Anything', { properties: { a: 1 } })`,
  'matchers of Jest': `${WITH_JEST}
    expect(client).toHaveTracked('Order Completed', { properties: { total: 1 }, userId: 'ada' })
    expect(client.analytics).not.toHaveTracked('Signed Up')
    expect(client).toHaveTrackedTimes(expect.stringMatching(/^Order /), 2, { userId: expect.any(String) })
    expect(client).toHaveTracked('Order Completed', { properties: { total: expect.any(Number) } })
    expect(client).toHavePaged({ name: 'Pricing' })
    expect(client).toHavePaged(expect.objectContaining({ name: 'Pricing' }))
    expect(client).toHaveFailed('Signed Up', expect.objectContaining({ code: 'rejected' }))
    client.find(expect.objectContaining({ userId: 'ada' }))`,
  'handlers of msw': `
    handlers({ host: 'https://a', onMessage: (message) => message.type, respond: (messages, request) =>
      messages.length > 1 ? new Response(request.method, { status: 503 }) : undefined })`,
  'handlers of msw in a server of msw': `
    import { setupServer } from 'msw/node'
    setupServer(...handlers()).use(...handlers({ respond: () => undefined }))`,
}

const REFUSED: Record<string, [snippet: string, mentions: string]> = {
  'an event that is not in the map': [`client.find({ event: 'Order Complete' })`, 'Order Complete'],
  'a property that the event does not have': [
    `client.find({ event: 'Order Completed', properties: { totl: 1 } })`,
    'totl',
  ],
  'a property of another type': [
    `client.waitFor({ event: 'Order Completed', properties: { total: '1' } })`,
    'string',
  ],
  'a trait that the user does not have': [
    `client.find({ type: 'identify', traits: { plan: 'gold' } })`,
    'gold',
  ],
  'a date where the message has text': [
    `client.find({ event: 'Order Completed' })[0]?.properties.placedAt?.getTime()`,
    'getTime',
  ],
  'an unknown event in a matcher of Vitest': [
    `${WITH_VITEST} expect(client).toHaveTracked('Order Complete')`,
    'Order Complete',
  ],
  'an unknown property in a matcher of Vitest': [
    `${WITH_VITEST} expect(client.analytics).toHaveTracked('Order Completed', { properties: { totl: 1 } })`,
    'totl',
  ],
  'an unknown code in a matcher of Vitest': [
    `${WITH_VITEST} expect(client).toHaveFailed('Signed Up', { code: 'refused' })`,
    'refused',
  ],
  'an unknown event in a count': [
    `${WITH_VITEST} expect(client).toHaveTrackedTimes('Order Complete', 1)`,
    'Order Complete',
  ],
  'an unknown event in a matcher of Jest': [
    `${WITH_JEST} expect(client).toHaveTracked('Order Complete')`,
    'Order Complete',
  ],
  'a failure that does not exist': [`client.failNext({ state: 503 })`, 'state'],
}

test('filters, messages and matchers are typed by the events of the client', async () => {
  const snippets = {
    ...ACCEPTED,
    ...Object.fromEntries(Object.entries(REFUSED).map(([name, [snippet]]) => [name, snippet])),
  }

  const complaints = await compileSnippets(project, 'typed', HEADER, snippets, ['node'])

  for (const name of Object.keys(ACCEPTED)) expect(complaints[name], name).toBe('')
  for (const [name, [, mentions]] of Object.entries(REFUSED)) {
    expect(complaints[name], name).toContain(mentions)
  }
})
