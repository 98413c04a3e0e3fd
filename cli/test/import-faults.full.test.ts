import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { launcher, ndjson, newFile, newFolder, run, start, startServer, stateOf } from './support.ts'

/** At the rate of the interrupted imports, it takes at least a quarter of a minute. */
const LINES = 3_000

describe('an interrupted import', () => {
  test('after Ctrl+C, the lines in flight are delivered, and --resume continues at the reported line', async () => {
    const server = await startServer(() => undefined)
    const file = newFile('events.ndjson', ndjson(LINES))
    const running = start(['import', file, '--rate', '200'], { env: server.env })
    while (server.taken.length < 300) await new Promise((resolve) => setTimeout(resolve, 20))

    running.child.kill('SIGINT')
    const { code, stdout } = await running.ended

    expect(code).toBe(130)
    const line = Number(/everything before line (\d+) has its outcome/.exec(stdout)?.[1])
    expect(server.taken.length).toBe(line - 1)
    expect(stateOf(file)).toMatchObject({ line, isDone: false })
    expect(stdout).toContain('; --resume continues there')
    const again = await run(['import', file, '--resume'], { env: server.env })
    expect([again.code, again.stderr]).toEqual([0, `${file}: continues at line ${line}\n`])
    expect(again.stdout).toContain(`${(LINES - line + 1).toLocaleString('en-US')} lines:`)
    expect(server.taken.length).toBe(LINES)
    expect(new Set(server.taken).size).toBe(LINES)
  })

  test('a second Ctrl+C ends the import at once', async () => {
    const server = await startServer(() => 'open')
    const running = start(['import', newFile('a.ndjson', ndjson(100))], { env: server.env })
    while (server.requests === 0) await new Promise((resolve) => setTimeout(resolve, 20))

    running.child.kill('SIGINT')
    await running.prints('Ctrl+C again ends at once')
    running.child.kill('SIGINT')

    expect((await running.ended).code).toBe(130)
    expect(server.taken).toEqual([])
  })

  test('Ctrl+C ends an import that waits for stdin', async () => {
    const server = await startServer(() => undefined)
    const running = start(['import', '-'], { env: server.env })
    running.child.stdin?.write(ndjson(3))
    while (server.taken.length < 3) await new Promise((resolve) => setTimeout(resolve, 20))

    running.child.kill('SIGINT')
    const { code, stdout } = await running.ended

    expect([code, server.taken.length]).toEqual([130, 3])
    expect(stdout).toContain('3 lines: 3 delivered')
  })

  test('an import neither starts over by mistake nor continues with another host, key or file', async () => {
    const server = await startServer((request) => (request === 1 ? undefined : 401))
    const file = newFile('events.ndjson', ndjson(3_000))
    // Once the service has accepted a key, a 401 is retried. With `--max-retries 0`, the first 401 stops the import.
    const first = await run(['import', file, '--max-retries', '0'], { env: server.env })
    expect(first.code).toBe(1)
    const { line } = stateOf(file)

    const careless = await run(['import', file], { env: server.env })
    const otherKey = await run(['import', file, '--resume'], {
      env: { ...server.env, TRACKPOST_WRITE_KEY: 'other' },
    })
    const otherHost = await run(['import', file, '--resume', '--host', 'http://127.0.0.1:1'], {
      env: server.env,
    })
    writeFileSync(file, ndjson(3_000, 7))
    const otherFile = await run(['import', file, '--resume'], { env: server.env })

    expect(careless).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`stopped at line ${line}: add --resume`),
    })
    expect(otherKey).toMatchObject({ code: 2, stderr: expect.stringContaining('with another write key') })
    expect(otherHost).toMatchObject({ code: 2, stderr: expect.stringContaining(`went to ${server.url}`) })
    expect(otherFile).toMatchObject({ code: 2, stderr: expect.stringContaining('its beginning differs') })
    expect(stateOf(file).line).toBe(line)
  })

  test('the import of a file that has grown continues at the new lines', async () => {
    const server = await startServer(() => undefined)
    const file = newFile('events.ndjson', ndjson(10))
    await run(['import', file], { env: server.env })
    writeFileSync(file, ndjson(15))

    const { code, stdout } = await run(['import', file, '--resume'], { env: server.env })

    expect([code, new Set(server.taken).size, server.taken.length]).toEqual([0, 15, 15])
    expect(stdout).toContain('5 lines: 5 delivered')
  })

  test('--resume is an error if the last line of the earlier import has become longer', async () => {
    const server = await startServer(() => undefined)
    const file = newFile('events.ndjson', ndjson(10).slice(0, -20))
    await run(['import', file], { env: server.env })
    writeFileSync(file, ndjson(15))

    const { code, stderr } = await run(['import', file, '--resume'], { env: server.env })

    expect(code).toBe(2)
    expect(stderr).toContain('the last line of the earlier import is longer now')
  })

  test('--resume without a state file is an error for stdin, and a note for a file', async () => {
    const server = await startServer(() => undefined)
    const file = newFile('events.ndjson', ndjson(10))
    const options = { env: server.env, input: ndjson(10) }
    const state = join(dirname(file), 'state.json')

    const stdin = await run(['import', '-', '--resume'], options)
    const named = await run(['import', '-', '--resume', '--state', state], options)
    const again = await run(['import', '-', '--resume', '--state', state], options)
    const ofFile = await run(['import', file, '--resume'], { env: server.env })

    expect([stdin.code, stdin.stdout, stdin.stderr]).toEqual([
      2,
      '',
      'trackpost: --resume: for stdin, add --state <path>, the state file of the earlier import\n',
    ])
    expect([named.code, named.stderr]).toEqual([
      0,
      `-: there is no state file ${state}: starts at the first line\n`,
    ])
    expect(again.stdout).toContain('0 lines')
    expect([ofFile.code, ofFile.stderr]).toEqual([
      0,
      `${file}: there is no state file ${file}.trackpost-state.json: starts at the first line\n`,
    ])
    expect(server.taken.length).toBe(20)
  })
})

describe('a service that fails', () => {
  test('401 stops the import at once, and no line counts as refused', async () => {
    const server = await startServer(() => 401)
    const file = newFile('events.ndjson', ndjson(LINES))

    const { code, stdout, stderr } = await run(['import', file], { env: server.env })

    expect(code).toBe(1)
    expect(stderr).toMatch(/events\.ndjson:1: \[401\] Unauthorized/)
    expect(stdout).toContain('0 lines: 0 delivered, 0 refused')
    expect(stdout).toContain('; start the import again')
    expect(stdout + stderr).not.toContain('history')
    expect(server.requests).toBeLessThanOrEqual(8)
    expect(existsSync(join(dirname(file), 'events.rejects.ndjson'))).toBe(false)
  })

  test('an unreachable service is reported in one line; with the right address, the same command sends the whole file', async () => {
    const server = await startServer(() => undefined)
    const file = newFile('events.ndjson', ndjson(LINES))
    const args = ['import', file, '--max-retries', '0']

    const wrong = await run(args, { env: { ...server.env, TRACKPOST_HOST: 'http://127.0.0.1:1' } })

    expect([wrong.code, wrong.stderr]).toEqual([1, `${file}:1: connect ECONNREFUSED 127.0.0.1:1\n`])
    expect(wrong.stdout).toContain('everything before line 1 has its outcome; start the import again')
    expect(stateOf(file)).toMatchObject({ line: 1, isDone: false })
    const { code, stderr } = await run(args, { env: server.env })
    expect([code, stderr]).toEqual([0, ''])
    expect(new Set(server.taken).size).toBe(LINES)
  })

  test('after a failure in the middle, delivered lines are not sent again', async () => {
    const server = await startServer((request) => (request <= 2 ? undefined : 404))
    const file = newFile('events.ndjson', ndjson(LINES))
    const first = await run(['import', file, '--max-retries', '0'], { env: server.env })
    const { line } = stateOf(file)
    expect(first.stderr).toContain(`events.ndjson:${line}: [404] Not Found`)
    server.requests = -1_000
    const again = await run(['import', file], { env: server.env })
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('add --resume to continue')])

    const { code } = await run(['import', file, '--resume'], { env: server.env })

    expect(code).toBe(0)
    expect(new Set(server.taken).size).toBe(LINES)
  })

  test.each([401, 404, 503])(
    '%i in the middle is reported at once, and stops the import after --max-retries',
    async (status) => {
      const server = await startServer((request) => (request <= 2 ? undefined : status))
      const file = newFile('events.ndjson', ndjson(2 * LINES))

      const { code, stdout, stderr } = await run(['import', file, '--max-retries', '1'], { env: server.env })

      const lines = stderr.trimEnd().split('\n')
      expect([code, lines.pop()]).toEqual([
        1,
        expect.stringContaining(`${file}:${stateOf(file).line}: [${status}] `),
      ])
      // There are two reports if the service accepts an earlier request after the first failure, which resets the retries.
      expect([1, 2]).toContain(lines.length)
      for (const line of lines) {
        expect(line).toMatch(
          /^trackpost: waits \d+ s: \[\d+\] .*; tries again, at most 1 time \(--max-retries\)$/,
        )
      }
      expect(stdout).toContain('; --resume continues there')
      // Up to four requests are in flight. After one that was accepted beside a failure, parts of those that failed are tried,
      // until eight have failed in a row.
      expect(server.requests).toBeLessThanOrEqual(20)
    },
  )

  test('no line is lost when some requests get 503', async () => {
    const server = await startServer((request) => (request % 3 === 0 ? 503 : undefined))
    const { code } = await run(['import', newFile('a.ndjson', ndjson(2_000))], { env: server.env })

    expect([code, new Set(server.taken).size]).toEqual([0, 2_000])
  })

  test('a service that answers every request with 400 stops the import before the whole file is refused', async () => {
    const server = await startServer((_request, ids) => (ids.length === 0 ? undefined : 400))

    const { code, stderr } = await run(['import', newFile('a.ndjson', ndjson(20_000))], {
      env: server.env,
    })

    expect(code).toBe(1)
    expect(stderr).toContain('the service has refused 500 lines in a row: [400] Bad Request')
  })
})

describe('a disk or state file that fails', () => {
  test('a failure of the last save is reported, when the folder of the state file has been removed', async () => {
    const folder = join(newFolder(), 'states')
    mkdirSync(folder)
    const server = await startServer(() => {
      rmSync(folder, { recursive: true, force: true })
      return undefined
    })

    const { code, stderr } = await run(
      ['import', newFile('a.ndjson', ndjson(1)), '--state', join(folder, 'a.state')],
      { env: server.env },
    )

    expect([code, server.taken.length]).toEqual([1, 1])
    expect(stderr).toMatch(/a\.ndjson:\d+: the state file .* cannot be written/)
  })

  test('nothing is sent if the first state cannot be written', async () => {
    const server = await startServer(() => undefined)
    const file = newFile('events.ndjson', ndjson(10))
    // With this limit, no process can write to a file, not even as root.
    const child = spawn(
      'bash',
      ['-c', `ulimit -f 0; exec "$0" "$@"`, process.execPath, launcher(), 'import', file],
      {
        env: { ...process.env, ...server.env },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    let stderr = ''
    child.stderr?.on('data', (text) => {
      stderr += text
    })

    const [code] = await once(child, 'close')

    expect([code, server.requests]).toEqual([1, 0])
    expect(stderr).toMatch(/^trackpost: the state file .* cannot be written: no larger file is allowed\n$/)
  })

  test('a device in place of the state file is refused', async () => {
    const server = await startServer(() => undefined)

    const { code, stderr } = await run(['import', newFile('a.ndjson', ndjson(1)), '--state', '/dev/full'], {
      env: server.env,
    })

    expect([code, server.requests]).toEqual([2, 0])
    expect(stderr).toBe('trackpost: state file /dev/full: it is not a regular file\n')
  })

  test('a damaged state file is an error that suggests --restart', async () => {
    const file = newFile('a.ndjson', ndjson(1))
    writeFileSync(`${file}.trackpost-state.json`, '{"version":1,"off')

    const { code, stderr } = await run(['import', file, '--resume'], {
      env: { TRACKPOST_WRITE_KEY: 'history' },
    })

    expect(code).toBe(2)
    expect(stderr).toContain('it cannot be read; use --restart to start over')
  })
})

describe('invalid input', () => {
  const env = { TRACKPOST_HOST: 'http://127.0.0.1:1', TRACKPOST_WRITE_KEY: 'history' }
  const csv = 'who,what\nada,Paid\n'

  test.each([
    ['UTF-16 without a byte order mark', 'a.csv', Buffer.from(csv, 'utf16le'), ':1: this is not text'],
    ['a zip archive', 'a.csv', Buffer.from('504b0304140000', 'hex'), ':1: this is a zip archive'],
    ['binary data', 'a.csv', Buffer.from('who\0,x'), ':1: this is not text'],
    ['a broken header', 'a.csv', '"who,what\nada,Paid\n', ':1: the header cannot be read'],
  ])('%s is refused in one line', async (_label, name, content, message) => {
    const file = newFile(name, content)

    const { code, stderr, stdout } = await run(['import', file, '--type', 'track'], { env })

    expect([code, stdout]).toEqual([2, ''])
    expect(stderr.startsWith(`trackpost: ${file}${message}`)).toBe(true)
    expect(stderr.trimEnd().split('\n').length).toBe(1)
    expect(existsSync(`${file}.trackpost-state.json`)).toBe(false)
  })

  test.each([
    ['a missing column', 'userId=whom,event=what', ':1: no column "whom" for userId; there are who, what'],
    ['an unknown field', 'user=who', '--map: messages have no field user'],
    ['a field without a column', 'userId', '--map: expected field=column, got "userId"'],
    ['a field that is mapped twice', 'userId=who,userId=what', '--map: userId is mapped twice'],
    ['an unknown cast', 'properties.x:date=who', 'after the colon'],
  ])('a mapping with %s is wrong usage', async (_label, map, message) => {
    const { code, stderr } = await run(['import', newFile('a.csv', csv), '--type', 'track', '--map', map], {
      env,
    })

    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })

  test('a missing file and a folder are errors', async () => {
    const missing = await run(['import', '/nowhere/a.csv'], { env })
    const folder = await run(['import', '/tmp'], { env })

    expect([missing.code, missing.stderr]).toEqual([2, 'trackpost: /nowhere/a.csv: there is no such file\n'])
    expect([folder.code, folder.stderr]).toEqual([2, 'trackpost: /tmp: it is a folder\n'])
  })

  test('a file without read permission is an error', async () => {
    const file = newFile('a.ndjson', ndjson(1))
    chmodSync(file, 0)
    // Root can read every file. If the test runs as root, it runs the command as the user `nobody`.
    const asNobody = ['-u', 'nobody', process.execPath, launcher(), 'import', file]
    const isRoot = process.getuid?.() === 0
    if (isRoot && spawnSync('runuser', ['-u', 'nobody', 'true']).status !== 0) {
      return console.warn('SKIPPED: root can read every file, and no other user is available')
    }
    const program = isRoot ? 'runuser' : process.execPath
    spawnSync('chmod', ['a+rx', dirname(file), join(dirname(launcher()), '../../..')])

    const { status, stderr } = spawnSync(program, isRoot ? asNobody : asNobody.slice(3), {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    })

    expect([status, stderr]).toEqual([2, `trackpost: ${file}: no permission\n`])
  })

  test.each(['ndjson', 'csv'])('the complete lines of a truncated gzip file are sent: %s', async (format) => {
    const server = await startServer(() => undefined)
    const rows = Array.from({ length: 5_000 }, (_, index) => `ada,Paid,${(index * 7919) % 10_007}\n`)
    const content = format === 'csv' ? `userId,event,properties.n\n${rows.join('')}` : ndjson(5_000)
    const whole = gzipSync(content)
    const file = newFile(`a.${format}.gz`, whole.subarray(0, whole.length / 2))
    const args = ['import', file, '--type', 'track']

    const first = await run(args, { env: server.env })

    expect(first.code).toBe(1)
    const { line } = stateOf(file)
    expect(first.stderr).toContain(`a.${format}.gz:${line}: the gzip data ends in the middle`)
    expect(server.taken.length).toBeGreaterThan(0)
    writeFileSync(file, whole)
    const second = await run([...args, '--resume'], { env: server.env })
    expect(second.code).toBe(0)
    expect([server.taken.length, new Set(server.taken).size]).toEqual([5_000, 5_000])
  })

  test('the complete lines of a truncated file are sent however slowly the service responds', async () => {
    const server = await startServer((_request, messageIds, response) => {
      server.taken.push(...messageIds)
      setTimeout(() => response.end('{"success":true}'), 1_500)
      return 'open'
    })
    const whole = gzipSync(ndjson(5_000))
    const file = newFile('a.ndjson.gz', whole.subarray(0, whole.length / 2))

    const { code, stdout } = await run(['import', file], { env: server.env })

    const { line } = stateOf(file)
    expect([code, server.taken.length > 1_000]).toEqual([1, true])
    expect(server.taken).toHaveLength(line - 1)
    expect(stdout).toContain(`${(line - 1).toLocaleString('en-US')} delivered`)
  })

  test('the elements before the broken part of a JSON array are sent', async () => {
    const server = await startServer(() => undefined)
    const [one = '', two = ''] = ndjson(2).split('\n')

    const gap = await run(['import', newFile('a.json', `[${one}\n${two}]`)], { env: server.env })
    const half = await run(['import', newFile('a.json', `[${one},\n${two.slice(0, 40)}`)], {
      env: server.env,
    })

    expect(gap).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('line 2: the JSON array is broken: expected a comma'),
    })
    expect(half).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('a.json:2: the JSON array ends inside this element'),
    })
    expect(server.taken.length).toBe(2)
  })

  test('lines that are not UTF-8 are reported by number, and copied to the rejects file byte for byte', async () => {
    const server = await startServer(() => undefined)
    const latin = Buffer.from('{"type":"track","userId":"zoë","event":"Größe"}', 'latin1')
    const file = newFile(
      'a.ndjson',
      Buffer.concat([Buffer.from(ndjson(1)), latin, Buffer.from(`\n${ndjson(1, 1)}`)]),
    )

    const { code, stderr } = await run(['import', file], { env: server.env })

    expect([code, server.taken.length]).toEqual([1, 2])
    expect(stderr).toContain('a.ndjson:2: this is not UTF-8')
    const rejects = readFileSync(join(dirname(file), 'a.rejects.ndjson'))
    expect(rejects.equals(Buffer.concat([latin, Buffer.from('\n')]))).toBe(true)
  })
})

test('the import continues when the reader of its output has closed the pipe', async () => {
  const server = await startServer(() => undefined)
  const running = start(['import', newFile('a.ndjson', ndjson(500))], { env: server.env })
  running.child.stdout?.destroy()
  running.child.stderr?.destroy()

  const { code } = await running.ended

  expect([code, server.taken.length]).toEqual([0, 500])
})
