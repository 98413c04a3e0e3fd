import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { TIER } from '../../scripts/tiers.mjs'
import { ndjson, newFile, newFolder, run, start, startCollector, startServer, stateOf } from './support.ts'

/** At the rate of the interrupted imports, it takes at least a quarter of a minute. */
const LINES = 3_000

const FORMATS: [label: string, name: string, content: string | Buffer, flags: string[]][] = [
  [
    'CSV in gzip',
    'events.csv.gz',
    gzipSync(
      `who,what,number\n${Array.from({ length: LINES }, (_, index) => `ada,"Paid\n",${index}\n`).join('')}`,
    ),
    ['--type', 'track', '--map', 'userId=who,event=what', '--rest'],
  ],
  ['NDJSON', 'events.ndjson', ndjson(LINES), []],
  ['a JSON array', 'events.json', `[\n${ndjson(LINES).trimEnd().replaceAll('\n', ',\n')}\n]\n`, []],
]

// The places in the first file are the hardest to find again: in compressed data, behind line breaks in quotes.
test.each(TIER === 'full' ? FORMATS : FORMATS.slice(0, 1))(
  'after kill -9, --resume loses no line, and the collector stores none twice: %s',
  async (_label, name, content, flags) => {
    const collector = await startCollector()
    const file = newFile(name, content)
    for (let kills = 0; kills < 2; kills++) {
      const running = start(['import', file, '--resume', '--rate', '200', ...flags], { env: collector.env })
      const before = (await collector.stats()).accepted
      while ((await collector.stats()).accepted < before + 200)
        await new Promise((resolve) => setTimeout(resolve, 20))
      running.child.kill('SIGKILL')
      await running.ended
    }
    expect((await collector.stats()).accepted).toBeLessThan(LINES)

    const { code } = await run(['import', file, '--resume', ...flags], { env: collector.env })

    expect(code).toBe(0)
    const ids = (await collector.events('status:accepted')).map(({ messageId }) => messageId)
    expect([ids.length, new Set(ids).size]).toEqual([LINES, LINES])
    expect(stateOf(file).isDone).toBe(true)
  },
)

test('after kill -9, the rejects file contains each refused line once', async () => {
  const collector = await startCollector()
  const lines = ndjson(LINES).split('\n')
  for (let index = 0; index < LINES; index += 10) lines[index] = '{"type":"track"}'
  const file = newFile('events.ndjson', lines.join('\n'))
  const running = start(['import', file, '--rate', '200'], { env: collector.env })
  while ((await collector.stats()).accepted < 300) await new Promise((resolve) => setTimeout(resolve, 20))
  running.child.kill('SIGKILL')
  await running.ended

  const { code } = await run(['import', file, '--resume'], { env: collector.env })

  expect(code).toBe(1)
  const rejects = readFileSync(join(dirname(file), 'events.rejects.ndjson'), 'utf8')
    .trimEnd()
    .split('\n')
  expect(rejects.map((line) => JSON.parse(line)._trackpost.line)).toEqual(
    Array.from({ length: LINES / 10 }, (_, index) => index * 10 + 1),
  )
  expect((await collector.stats()).accepted).toBe(LINES - LINES / 10)
})

test('a full disk is reported in one line, and after --resume no event is lost or doubled', async () => {
  const collector = await startCollector()
  const folder = fullableFolder()
  if (folder === undefined) return console.warn('SKIPPED: no small file system could be mounted (needs root)')
  const file = join(folder, 'events.ndjson')
  const content = ndjson(LINES)
  writeFileSync(file, content)
  const running = start(['import', file, '--rate', '200'], { env: collector.env })
  while ((await collector.stats()).accepted < 300) await new Promise((resolve) => setTimeout(resolve, 20))
  let isOver = false
  void running.ended.then(() => {
    isOver = true
  })
  // Again and again: a save that began before the disk was full frees the space of the earlier state.
  while (!isOver) {
    spawnSync('sh', ['-c', `cat /dev/zero >> ${join(folder, 'ballast')}`])
    await new Promise((resolve) => setTimeout(resolve, 20))
  }

  const { code, stdout, stderr } = await running.ended

  expect(code).toBe(1)
  expect(stderr).toMatch(
    /events\.ndjson:\d+: the state file .* cannot be written: no space left on the disk\n$/,
  )
  expect(stdout).toContain('; --resume continues there')
  spawnSync('rm', [join(folder, 'ballast')])
  const again = await run(['import', file, '--resume'], { env: collector.env })
  expect(again.code).toBe(0)
  const ids = (await collector.events('status:accepted')).map(({ messageId }) => messageId)
  expect([ids.length, new Set(ids).size]).toEqual([LINES, LINES])
})

test('the process stays alive while all pending lines wait for a retry and no more lines may be read', async () => {
  // The wait is longer than the time for which the SDK would keep an idle process alive.
  let failedAtMs = Number.POSITIVE_INFINITY
  const server = await startServer((request, _ids, response) => {
    // All that was on its way fails too: one success beside it would end the wait.
    if (request < 3 || performance.now() - failedAtMs > 6_000) return undefined
    failedAtMs = Math.min(failedAtMs, performance.now())
    response.setHeader('retry-after', '7')
    return 503
  })

  const { ended } = start(['import', newFile('a.ndjson', ndjson(6_000))], { env: server.env })
  const { code, stderr } = await ended

  expect([code, new Set(server.taken).size]).toEqual([0, 6_000])
  // A stated wait becomes up to a fifth longer.
  expect(stderr).toMatch(/waits [789] s: \[503\] Service Unavailable/)
})

/** Mounts a file system of 3 MB. Returns `undefined` if it cannot be mounted. */
function fullableFolder(): string | undefined {
  const folder = join(newFolder(), 'small')
  mkdirSync(folder)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', folder]).status !== 0) return undefined
  onTestFinished(() => void spawnSync('umount', ['-l', folder]))
  return folder
}
