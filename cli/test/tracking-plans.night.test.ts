import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { newFolder, REPOSITORY } from './support.ts'

const guide = readFileSync(join(REPOSITORY, 'docs/tracking-plans.md'), 'utf8')

function blocks(language: string): string[] {
  return [...guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, found]) => found === language)
    .map(([, , text]) => text as string)
}

/** A project with the packages that the guide installs. */
function newProject(): string {
  const folder = newFolder()
  const link = (target: string, name: string): void => {
    const path = join(folder, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(target, path)
  }
  const cli = join(inject('project'), 'node_modules/trackpost-cli')
  link(cli, 'trackpost-cli')
  link(REPOSITORY, 'trackpost')
  link(join(REPOSITORY, 'collector'), 'trackpost-collector')
  for (const name of ['typescript', '@types/node']) link(join(REPOSITORY, 'node_modules', name), name)
  link(join(cli, 'bin/trackpost.js'), '.bin/trackpost')
  link(join(REPOSITORY, 'collector/bin/trackpost-collector.js'), '.bin/trackpost-collector')
  link(join(REPOSITORY, 'node_modules/typescript/bin/tsc'), '.bin/tsc')
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  return folder
}

// The test starts npx and the compiler many times, which takes minutes on a busy machine.
test('the steps of the tracking plan guide work, from the catalogue to the compiler error', {
  timeout: 600_000,
}, async () => {
  const folder = newProject()
  const write = (name: string, text: string | undefined): void =>
    writeFileSync(join(folder, name), text as string)
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$|VITEST|TRACKPOST_)/.test(name)),
  )
  const start = (command: string) => {
    // A process group, so that the processes that npx starts are killed too.
    const child = spawn('sh', ['-c', command], { cwd: folder, env, detached: true })
    onTestFinished(() => {
      if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGKILL')
    })
    return child
  }
  const run = async (command: string): Promise<{ code: number; stdout: string; stderr: string }> => {
    const child = start(command)
    const texts = { stdout: '', stderr: '' }
    child.stdout.on('data', (text) => (texts.stdout += text))
    child.stderr.on('data', (text) => (texts.stderr += text))
    const [code] = await once(child, 'close')
    // npm may print warnings about the settings of the machine.
    return { code, ...texts, stderr: texts.stderr.replace(/^npm warn .*\n/gm, '') }
  }
  const [, collect, send, fetchPlan, makeTypes, compile, ci] = blocks('sh') as [string, ...string[]]
  const [plan, settings] = blocks('json')
  const [types, complaint, refusal] = blocks('text')

  // A free port instead of 8787.
  const collector = start(`${collect?.trim()} --port 0`)
  const [line] = (await once(collector.stdout, 'data')) as [Buffer]
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(String(line)) as [string]
  const here = (command: string | undefined): string =>
    (command as string).replaceAll('http://127.0.0.1:8787', url)
  write('shop.mjs', here(blocks('ts')[0]))
  expect(await run(here(send))).toEqual({ code: 0, stdout: '', stderr: '' })

  expect(await run(here(fetchPlan))).toMatchObject({ code: 0, stderr: '' })
  const begun = JSON.parse(readFileSync(join(folder, 'plan.json'), 'utf8'))
  expect(begun.track['Order Completed'].required).toEqual(['currency', 'total'])
  // The schema of the catalogue is already a valid plan before anybody edits it.
  expect(await run(makeTypes as string)).toEqual({ code: 0, stdout: 'events.ts: 2 events\n', stderr: '' })

  write('plan.json', plan)
  expect((await run(makeTypes as string)).code).toBe(0)
  expect(readFileSync(join(folder, 'events.ts'), 'utf8')).toBe(types)
  write('shop.ts', here(blocks('ts')[1]))
  write('tsconfig.json', settings)
  expect(await run(compile as string)).toEqual({ code: 2, stdout: complaint, stderr: '' })

  const [checkTypes, checkCode, checkEvents] = (ci as string).trim().split('\n') as [string, string, string]
  const correct = here(blocks('ts')[1]).replace("'42.50'", '42.5')
  write('shop.ts', correct)
  for (const command of [checkTypes, checkCode, checkEvents]) {
    expect([command, (await run(command)).code]).toEqual([command, 0])
  }

  // Each of the three checks finds its kind of error.
  write('shop.ts', correct.replace('currency:', 'curency:'))
  expect(await run(checkCode)).toMatchObject({ code: 2, stdout: expect.stringContaining("'curency'") })
  write('plan.json', plan?.replace('"coupon"', '"voucher"'))
  expect(await run(checkTypes)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('events.ts: it does not match the plan'),
  })
  write('shop.mjs', here(blocks('ts')[0]).replace('total: 7', 'total: -7'))
  write('plan.json', plan)
  await run(here(send))
  expect(await run(checkEvents)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('properties.total'),
  })

  write('plan.json', plan?.replace('"number"', '"text"'))
  const refused = await run(makeTypes as string)
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr.slice(0, (refusal as string).indexOf('...'))).toBe(
    refusal?.slice(0, refusal.indexOf('...')),
  )
})
