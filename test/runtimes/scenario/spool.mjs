// A process with a spool. Usage: spool.mjs HOST DIRECTORY MODE
import process from 'node:process'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { Analytics } from 'trackpost'
import { FileSpool } from 'trackpost/spool'

const [host, directory, mode] = isMainThread ? process.argv.slice(2) : workerData
const [kind, argument] = mode.split(' ')
const create = () =>
  new Analytics({
    writeKey: 'wk_Spool_7',
    host,
    flushInterval: 20,
    spool: new FileSpool(directory),
  })
const trackAll = (analytics, name, count) => {
  for (let number = 1; number <= count; number++) {
    analytics.track({ userId: 'usr_Zoë', event: `${name} ${number}` })
  }
}
const delivered = async (analytics, count) => {
  while (analytics.stats.delivered < count) await new Promise((resolve) => setTimeout(resolve, 5))
  console.log('delivered')
}
const stay = () => setInterval(() => {}, 1_000)

if (kind === 'burst') {
  const analytics = create()
  trackAll(analytics, 'Burst', Number(argument))
  console.log(`stored ${await analytics.stored()}`)
  console.log(`stored ${await analytics.stored()}`)
  stay()
} else if (kind === 'deliver') {
  const analytics = create()
  await delivered(analytics, Number(argument))
  await analytics.closeAndFlush()
} else if (kind === 'thread' && !isMainThread) {
  const analytics = create()
  trackAll(analytics, 'Thread', 50)
  const isStored = await analytics.stored()
  const { parentPort } = await import('node:worker_threads')
  parentPort.postMessage(isStored)
  // Stays busy until the main thread terminates it.
  for (;;) await new Promise((resolve) => setTimeout(resolve, 1))
} else if (kind === 'thread') {
  const worker = new Worker(new URL(import.meta.url), { workerData: [host, directory, mode] })
  const isStored = await new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject))
  await worker.terminate()
  process.once('SIGUSR2', () => void delivered(create(), 50))
  console.log(isStored ? 'thread stored' : 'not stored')
  stay()
} else if (kind === 'listener') {
  const track = (event) => analytics.track({ userId: 'usr_Zoë', event })
  process.on('exit', () => track('Added Before'))
  const analytics = create()
  process.on('exit', () => {
    track('Added After')
    track('Tracked Again')
  })
  track('Tracked')
  if (argument === 'exit') process.exit(3)
  throw new Error('as intended')
} else if (kind === 'early') {
  const analytics = create()
  const exit = () => process.exit(3)
  const bad = { event: 'Without User' }
  if (argument === 'listener') analytics.on('error', exit)
  if (argument === 'handler') {
    const track = (ctx) => (ctx.event.event === 'Last' ? exit() : ctx)
    await analytics.register({
      name: 'p',
      type: 'before',
      version: '1',
      isLoaded: () => true,
      load: () => {},
      track,
    })
  } else
    for (let count = 0; count < 2; count++) analytics.track(bad, argument === 'callback' ? exit : undefined)
  trackAll(analytics, 'Early', 5)
  if (argument === 'handler') analytics.track({ userId: 'usr_Zoë', event: 'Last' })
}
