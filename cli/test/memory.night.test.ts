import { openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Running } from '../../test/support/program.ts'
import { ndjson, newFile, newFolder, run, start, startServer } from './support.ts'

const IS_FULL = process.env['TEST_FULL'] === '1'
const MAX_MB = 150
/** A full run takes minutes on a busy machine. */
const TIMEOUT_MS = 1_800_000

/** Prints the peak resident memory of the process when it exits. */
const METER = `data:text/javascript,process.on('exit',()=>console.error('peak '+process.resourceUsage().maxRSS/1000+' MB'))`

function peakOf(stderr: string): number {
  return Number(/peak ([\d.]+) MB/.exec(stderr)?.[1])
}

test(
  `an import of ${IS_FULL ? '1,000,000' : '100,000'} lines takes at most ${MAX_MB} MB`,
  async () => {
    const lines = IS_FULL ? 1_000_000 : 100_000
    const server = await startServer(() => undefined)
    const file = join(newFolder(), 'history.csv')
    const descriptor = openSync(file, 'w')
    writeSync(descriptor, 'who,what,at,total,note\n')
    for (let from = 0; from < lines; from += 10_000) {
      const rows = Array.from({ length: 10_000 }, (_, index) => {
        const at = new Date(1.7e12 + (from + index) * 1_000).toISOString()
        return `user-${index},Order Completed,${at},${index / 10},"zoë said ""hi"" ${index}"\n`
      })
      writeSync(descriptor, rows.join(''))
    }
    const map = [
      '--type',
      'track',
      '--map',
      'userId=who,event=what,timestamp=at,properties.total:number=total',
      '--rest',
    ]

    const { code, stderr } = await run(['import', file, ...map], {
      env: server.env,
      nodeArgs: ['--import', METER],
    })

    expect([code, new Set(server.taken).size]).toEqual([0, lines])
    expect(peakOf(stderr)).toBeGreaterThan(20)
    expect(peakOf(stderr)).toBeLessThanOrEqual(MAX_MB)
  },
  TIMEOUT_MS,
)

test.each(['ndjson', 'csv', 'json'])(
  `a line of ${IS_FULL ? '2 GB' : '200 MB'} is refused with its line number, in bounded memory: %s`,
  async (format) => {
    const server = await startServer(() => undefined)
    const running = start(['import', '-', '--format', format, '--type', 'track', '--max-retries', '0'], {
      env: server.env,
      nodeArgs: ['--import', METER],
    })
    const piece = Buffer.alloc(1_000_000, 'x')
    const [before, opening, after] = {
      ndjson: ['{"userId":"ada","event":"one"}\n', '', '\n{"userId":"ada","event":"two"}\n'],
      csv: ['userId,event\nada,one\n', '', '\nada,two\n'],
      json: ['[{"userId":"ada","event":"one"},\n', '"', '",\n{"userId":"ada","event":"two"}]'],
    }[format] as [string, string, string]
    await write(running, before + opening)
    for (let sent = 0; sent < (IS_FULL ? 2_000 : 200); sent++) await write(running, piece)
    await write(running, after)
    running.child.stdin?.end()

    const { code, stderr } = await running.ended

    expect([code, server.taken.length]).toEqual([1, 2])
    const line = format === 'csv' ? 3 : 2
    expect(stderr).toContain(`-:${line}: line ${line} has more than 1,048,576 bytes\n`)
    expect(peakOf(stderr)).toBeLessThanOrEqual(MAX_MB)
  },
  TIMEOUT_MS,
)

async function write({ child }: Running, data: string | Buffer): Promise<void> {
  if (child.stdin?.write(data) === false) await new Promise((resolve) => child.stdin?.once('drain', resolve))
}

test('reading stops while the service does not respond', async () => {
  const server = await startServer(() => 'open')
  const running = start(['import', '-', '--max-retries', '0'], {
    env: server.env,
    nodeArgs: ['--import', METER],
  })
  let written = 0
  const text = ndjson(1_000)
  // If the command stops reading, its pipe still holds about 64 KiB, and the stream in this process buffers some more.
  const isStuck = async (): Promise<boolean> => {
    const before = written
    for (let index = 0; index < 200; index++) {
      if (running.child.stdin?.writableNeedDrain === true) break
      running.child.stdin?.write(text)
      written += 1_000
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
    return written === before && server.requests > 0
  }

  while (!(await isStuck())) if (written > 100_000) break

  expect(server.requests).toBeGreaterThan(0)
  expect(written).toBeLessThan(20_000)
  running.child.kill('SIGKILL')
})

test('refused lines do not accumulate in memory, even if every line is refused', async () => {
  const server = await startServer(() => undefined)
  const row = `{"type":"track","event":"${'x'.repeat(1_000)}"}\n`
  const file = newFile('a.ndjson', row.repeat(40_000))

  const { code, stderr } = await run(['import', file], {
    env: server.env,
    nodeArgs: ['--import', METER],
  })

  expect(code).toBe(1)
  expect(peakOf(stderr)).toBeLessThanOrEqual(MAX_MB)
  expect(readFileSync(file.replace('a.ndjson', 'a.rejects.ndjson'), 'utf8').match(/\n/g)?.length).toBe(40_000)
})
