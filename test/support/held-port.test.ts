import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { holdPort } from './held-port.ts'

function answerOf(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
    socket.on('data', (text) => resolve(String(text)))
    socket.on('close', () => resolve('closed'))
  })
}

// On Windows, no server can listen on a port that a connection uses.
test.skipIf(process.platform === 'win32')(
  'a held port refuses connections, is not assigned to another process, and a server of another process can listen on it',
  async () => {
    const { port, release } = await holdPort()
    onTestFinished(release)
    expect(await answerOf(port)).toBe('ECONNREFUSED')

    const others = Array.from({ length: 200 }, () => createServer().listen(0, '127.0.0.1'))
    await Promise.all(others.map((server) => once(server, 'listening')))
    const given = others.map((server) => (server.address() as { port: number }).port)
    for (const server of others) server.close()
    expect(given).not.toContain(port)

    const folder = mkdtempSync(join(tmpdir(), 'trackpost-held-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const program = join(folder, 'server.cjs')
    const server = `require('net').createServer((socket) => socket.end('mine'))`
    writeFileSync(program, `${server}.listen(${port}, '127.0.0.1', () => process.send('listening'))`)
    for (const _ of ['once', 'and after it was killed']) {
      const child = fork(program)
      await once(child, 'message')
      expect(await answerOf(port)).toBe('mine')
      child.kill('SIGKILL')
      await once(child, 'exit')
      expect(await answerOf(port)).toBe('ECONNREFUSED')
    }
  },
)
