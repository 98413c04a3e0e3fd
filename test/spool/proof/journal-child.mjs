/**
 * A process with a journal, which the tests kill. Usage: journal-child.mjs MODULE DIRECTORY MODE NAME. The modes:
 *
 * - `write`: appends messages and settles some of them, for ever; prints `kept N` when the first N messages were appended
 * - `exit`, `throw`, `memory`, `thread`, `kill`: appends one message, and ends so
 * - `take`: takes over what is there, prints it, and ends; the journal is closed, and all is settled
 * - `fill`: appends messages until one is not kept, and prints how many were
 */
import { randomUUID } from 'node:crypto'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const [module, path, mode, name] = process.argv.slice(2)
const { FileJournal, systemClock } = await import(module)

if (mode === 'thread' && isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) })
  await new Promise((resolve) => worker.once('message', resolve))
  await worker.terminate()
  process.exit()
}

const warn = (text) => process.stderr.write(`${text}\n`)
const journal = new FileJournal({ path, client: { clock: systemClock, warn, onFound() {} } })
let count = 0
const next = () =>
  Buffer.from(
    JSON.stringify({ type: 'track', messageId: `${name}-${++count}`, event: 'Müsli', nonce: randomUUID() }),
  )

if (mode === 'write') {
  const open = []
  const write = () => {
    const records = journal.append(Array.from({ length: 1 + Math.floor(Math.random() * 400) }, next))
    if (records.some((record) => record === undefined)) process.exit(9)
    open.push(...records.map((record, index) => ({ record, id: count - records.length + index + 1 })))
    process.stdout.write(`kept ${count}\n`)
    // Most events have their outcome soon, in any order, and some never.
    while (open.length > 700) {
      const [{ record, id }] = open.splice(Math.floor(Math.random() * 600), 1)
      // First told: the process may be killed in between.
      process.stdout.write(`settled ${id}\n`)
      journal.settled(record)
    }
    setTimeout(write, Math.random() * 3)
  }
  write()
} else if (mode === 'take') {
  const taken = []
  for (let some = journal.recover(); some.length > 0; some = journal.recover()) {
    for (const { record, message } of some)
      taken.push([record, JSON.parse(Buffer.from(message).toString()).messageId])
  }
  for (const [record] of taken) journal.settled(record)
  await journal.close()
  process.stdout.write(`${JSON.stringify(taken.map(([, id]) => id))}\n`)
} else if (mode === 'fill') {
  let kept = 0
  for (let record = {}; record !== undefined; kept++) [record] = journal.append([next()])
  process.stdout.write(`${JSON.stringify({ kept: kept - 1, isSafe: await journal.sync() })}\n`)
  process.kill(process.pid, 'SIGKILL')
} else {
  if (journal.append([next()])[0]?.isKept !== true) process.exit(9)
  if (mode === 'exit') process.exit(0)
  if (mode === 'throw') throw new Error('as intended')
  if (mode === 'kill') process.kill(process.pid, 'SIGKILL')
  if (mode === 'thread') parentPort.postMessage('appended')
  const all = []
  while (mode === 'memory') all.push(Array.from({ length: 1_000 }, () => ({ mode })))
}
