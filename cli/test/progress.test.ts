import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createDescription, showProgress } from '../src/output/progress.ts'
import { launcher, ndjson, newFile, startServer } from './support.ts'

const hasTerminal = spawnSync('script', ['--version']).status === 0

test.skipIf(!hasTerminal)(
  'the progress on a terminal is cleared at the end, and overwrites no printed line',
  async () => {
    const server = await startServer(() => undefined)
    const file = newFile('a.ndjson', `{"type":"track"}\n${ndjson(2_000)}`)
    const command = `'${process.execPath}' '${launcher()}' import '${file}' --rate 2000`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...process.env, ...server.env, TERM: 'xterm' },
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })

    const [code] = await once(child, 'close')

    expect(code).toBe(1)
    expect(output).toMatch(/\d+ %, [\d,]+ lines?, \d failed, [\d,]+\/s/)
    // Printed lines must be above the progress, which is drawn again below them.
    const [, afterProblem = ''] = output.split('userId or anonymousId, got neither')
    expect(afterProblem.startsWith('\r\n\r\u001b[K')).toBe(true)
    const [screen = ''] = output.split('\r\u001b[K').slice(-1)
    expect(screen).toContain('2,000 delivered, 1 refused')
    expect(screen).not.toMatch(/ %, /)
    expect(output).not.toContain('\u001b[?25l')
  },
)

test('on a terminal with 60 columns, the number of failed lines and the reason of a wait stay', () => {
  let output = ''
  const terminal = { isTTY: true, columns: 60, write: (text: string) => (output += text) }
  const progress = {
    done: 1_000_000,
    failed: 12,
    share: 0.5,
    paused: 'waits 60 s: [503] Service Unavailable',
  }

  showProgress(() => progress, terminal as never).stop()

  expect(output).toContain('50 %, 1,000,000 lines, 12 failed, waits 60 s: [503] Servic')
  expect(output.length).toBeLessThan(2 * '\r\u001b[K'.length + 60)
})

test('the time left is shown only after 3 s, because the slow first connection would distort the estimate', () => {
  let nowMs = 0
  const describe = createDescription(() => nowMs)
  const at = (ms: number, share: number): string => {
    nowMs = ms
    return describe({ done: Math.round(share * 100_000), failed: 0, share, paused: undefined })
  }

  expect(at(0, 0)).not.toContain('left')
  expect(at(500, 0.00002)).not.toContain('left')
  expect(at(2_900, 0.02)).not.toContain('left')
  expect(at(3_000, 0.03)).toContain('1 min 37 s left')
  expect(at(20_000, 0.2)).toMatch(/left/)
  expect(at(21_000, 1)).not.toContain('left')
  const paused = 'waits 7 s: no answer'
  expect(describe({ done: 20_000, failed: 0, share: 0.2, paused })).toBe(
    `20 %, 20,000 lines, 0 failed, ${paused}`,
  )
})

test('the time left of an import that continues in the middle of a file counts only what it has done itself', () => {
  let nowMs = 0
  const describe = createDescription(() => nowMs)
  const at = (ms: number, share: number): string => {
    nowMs = ms
    return describe({ done: 0, failed: 0, share, paused: undefined })
  }

  at(0, 0.5)

  expect(at(10_000, 0.6)).toContain('40 s left')
})
