import { startCollectorProcess } from './collector-process.js'
import { company, sendLoad } from './load.js'

const WARM_UP = { seconds: 1, rate: 500, batch: 1, connections: 2 }

/** One load on a fresh collector, or on one with a database that is there. */
export async function measure({ database, profile, pages, search, stats, ...load }) {
  const collector = await startCollectorProcess({ database, profile })
  const { url } = collector
  const ask = async () => (await (await fetch(new URL('/api/stats', url))).json()).accepted
  const before = await ask()
  const warmUp = await sendLoad(url, WARM_UP)
  await collector.loopDelay()
  const processorBefore = collector.processorSeconds()
  const writtenBefore = collector.writtenMb()
  const others = company(url, { pages, search, stats })
  const { latencies, sent, failed, tookSeconds, fewestPerConnection } = await sendLoad(url, load)
  const times = await others.leave()
  const processorUsed = collector.processorSeconds() - processorBefore
  const writtenMb = collector.writtenMb() - writtenBefore
  const delay = await collector.loopDelay()
  const counted = (await ask()) - before - warmUp.sent
  const fileMb = collector.fileMb()
  await collector.stop()
  return {
    latencies,
    accepted: sent - failed,
    counted,
    failed,
    tookSeconds,
    fewestPerConnection,
    processorUsed,
    times,
    delay,
    memory: Math.max(...collector.memory),
    fileMb,
    writtenMb,
  }
}
