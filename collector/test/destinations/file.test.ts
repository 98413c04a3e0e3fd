import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FileSender } from '../../src/destinations/file.ts'
import { newFolder } from '../support/process.ts'

const delivery = (body: string) => ({
  eventId: '1',
  attempts: 0,
  source: 'shop',
  messageId: null,
  receivedAtMs: 0,
  body,
  key: 'a-1',
})

test('a line that was cut off does not spoil the next one', async () => {
  const path = join(newFolder(), 'events.ndjson')
  writeFileSync(path, '{"n":1}\n{"n":')
  const sender = new FileSender(path)

  await sender.send([delivery('{"n":2}')])
  await sender.send([delivery('{"n":3}')])

  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":\n{"n":2}\n{"n":3}\n')
})
