import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { TIER } from '../../scripts/tiers.mjs'
import { runNode, WRITE_KEY } from '../examples/run-node.ts'
import type { Exit } from '../support/program.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { createProject, type Project, REPOSITORY, runTool } from './project.ts'

let project: Project
let receiver: Receiver

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())
beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(() => receiver.close())

function runInProject(path: string): Promise<Exit> {
  return runNode([path], { TRACKPOST_WRITE_KEY: WRITE_KEY, TRACKPOST_HOST: receiver.url })
}

/** Compiles with the strictest settings, which also check the declarations of the package. */
async function compile(module: string): Promise<string> {
  const outDir = join(project.folder, `out-${module}`)
  const compilerOptions = {
    module,
    target: 'ES2022',
    lib: ['ES2022', 'ESNext.Disposable'],
    types: ['node'],
    typeRoots: [join(REPOSITORY, 'node_modules/@types')],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    noImplicitReturns: true,
    isolatedModules: true,
    skipLibCheck: false,
    outDir,
  }
  const config = JSON.stringify({ compilerOptions, files: ['service.mts', 'service.cts'] })
  const path = await project.write(`tsconfig.${module}.json`, config)
  const { output } = await runTool('tsc', ['--project', path], project.folder)
  expect(output).toBe('')
  return outDir
}

test.each(['named.mjs', 'named.cjs'])('the installed package delivers an event from %s', async (name) => {
  const { version } = JSON.parse(await readFile(join(REPOSITORY, 'package.json'), 'utf8'))

  const exit = await runInProject(await project.add(`test/package/consumers/${name}`))

  expect(exit).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(exit.stdout)).toEqual({ delivered: 1, failed: 0, pending: 0, version })
  expect(receiver.events).toMatchObject([
    {
      type: 'track',
      event: 'Café Opened',
      properties: { module: name },
      context: { library: { name: 'trackpost', version } },
    },
  ])
})

test('the program of the package says how to start the command line, and starts it if it is installed', async () => {
  const program = join(project.folder, 'node_modules/trackpost/bin/trackpost.js')
  const without = await runNode([program, 'verify'], {}, project.folder)
  const folder = join(project.folder, 'node_modules/trackpost-cli')
  await mkdir(join(folder, 'bin'), { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'bin/trackpost.js'), 'console.log(...process.argv.slice(2))')
  const withIt = await runNode([program, 'verify', '--json'], {}, project.folder)

  expect(without).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('npx trackpost-cli') })
  expect(withIt).toMatchObject({ code: 0, stdout: 'verify --json\n', stderr: '' })
})

// The build of the default form has no declarations.
if (TIER !== 'default') {
  test('strict TypeScript compiles and delivers', async () => {
    for (const name of ['service.mts', 'service.cts']) await project.add(`examples/typescript/${name}`)
    const outDir = await compile('node16')

    const esm = await runInProject(join(outDir, 'service.mjs'))

    expect(esm).toMatchObject({ code: 0, stderr: '' })
    expect(esm.stdout).toContain('delivered Order Completed after 1 attempt\n')
    expect(esm.stdout).toMatch(/\n6 delivered, \d requests, \d+\.\d+\.\d+\ntrue\n$/)
    // An asynchronous plugin handles page events, so other events overtake them.
    const arrived = receiver.events.map((event) => [event.event ?? event.type, event])
    expect(Object.fromEntries(arrived)).toMatchObject({
      'Service Started': { anonymousId: 'service' },
      identify: { traits: { name: 'Z. Å.' } },
      page: { name: 'Café', context: { app: { version: '2.4.1' } } },
      group: { groupId: 'cafe-moebius', integrations: { All: false, CRM: true } },
      alias: { previousId: 'visitor-7' },
      'Order Completed': { context: { app: { version: '2.4.1' } }, properties: { total: 24.9 } },
    })

    receiver.events.length = 0
    const commonjs = await runInProject(join(outDir, 'service.cjs'))

    expect(commonjs).toMatchObject({ code: 0, stderr: '' })
    expect(commonjs.stdout).toMatch(/^loaded into \S+\ndelivered Order Completed\n2 delivered, true\n$/)
    expect(receiver.events).toMatchObject([
      { type: 'track', userId: '1042', properties: { note: '抹茶 🍵' } },
      { type: 'screen', anonymousId: 'visitor-7', name: 'Basket' },
    ])
    expect(receiver.events[0]?.context).not.toHaveProperty('ip')
  })
}
