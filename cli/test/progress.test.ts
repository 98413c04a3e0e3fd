import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { launcher, ndjson, newFile, startServer } from './support.ts'

const hasTerminal = spawnSync('script', ['--version']).status === 0

test.skipIf(!hasTerminal)(
  'on a terminal there is a bar, which leaves nothing behind and hides nothing',
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
    expect(output).toMatch(/[█░]{24} \d+ %, [\d,]+ lines?, [\d,]+\/s, .*failed/)
    // The bar ends at the place that was saved last; what is printed before must lie above it.
    const [, afterProblem = ''] = output.split('userId or anonymousId, got neither')
    expect(afterProblem.startsWith('\r\n\u001b7')).toBe(true)
    const [screen = ''] = output.split('\u001b8').slice(-1)
    expect(screen).toContain('\u001b[2K')
    expect(screen).toContain('2,000 delivered, 1 refused')
  },
)
