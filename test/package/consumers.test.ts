import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { runNode, WRITE_KEY } from '../examples/run-node.ts'
import type { Exit } from '../support/program.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { createProject, type Project, REPOSITORY } from './project.ts'

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
