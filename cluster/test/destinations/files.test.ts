import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { Files } from '../../src/destinations/files.ts'
import { newEvent } from '../support/events.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-files-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('each hour has its file, with a message a line', async () => {
  const folder = join(newFolder(), 'new', 'events')
  const files = new Files(pathToFileURL(folder))
  const at = (messageId: string, receivedAt: string) => newEvent(messageId, { receivedAt })

  await files.write([at('a', '2026-02-03T04:59:59.999Z'), at('b', '2026-02-03T05:00:00.000Z')])
  await files.write([at('c', '2026-02-03T04:10:00.000Z')])

  const names = readdirSync(folder).toSorted()
  expect(names).toEqual([
    expect.stringMatching(/^2026-02-03T04\.[0-9a-f]{8}\.ndjson$/),
    expect.stringMatching(/^2026-02-03T05\.[0-9a-f]{8}\.ndjson$/),
  ])
  const read = (name = '') =>
    readFileSync(join(folder, name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  expect(read(names[0]).map(({ source, message }) => [source, message.messageId])).toEqual([
    ['shop', 'a'],
    ['shop', 'c'],
  ])
  expect(read(names[1])).toEqual([{ source: 'shop', message: JSON.parse(String(newEvent('b').body)) }])
  expect(statSync(join(folder, String(names[0]))).mode & 0o777).toBe(0o600)
})

test('workers never write to the same file', async () => {
  const folder = newFolder()

  for (const files of [new Files(pathToFileURL(folder)), new Files(pathToFileURL(folder))])
    await files.write([newEvent('a')])

  expect(readdirSync(folder)).toHaveLength(2)
})

test('a folder that cannot be made is a failure of the destination', async () => {
  const file = join(newFolder(), 'file')
  writeFileSync(file, '')
  const files = new Files(pathToFileURL(join(file, 'events')))

  await expect(files.write([newEvent('a')])).rejects.toThrow('ENOTDIR')
})
