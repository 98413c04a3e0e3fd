import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { showProgress } from '../src/output/progress.ts'
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
