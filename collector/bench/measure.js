import { startCollectorProcess } from './collector-process.js'
import { company, sendLoad } from './load.js'

/** The same load runs this long before the measurement, so that V8 has compiled the collector and the sender by then. */
const WARM_UP_SECONDS = 3

/** One load on a new collector, or on one with an existing database. The measurement begins after the warm-up. */
export async function measure({ database, profile, pages, search, stats, ...load }) {
  const collector = await startCollectorProcess({ database, profile })
  const { url } = collector
  const ask = async () => (await (await fetch(new URL('/api/stats', url))).json()).accepted
  const before = await ask()
  const others = company(url, { pages, search, stats })
  const warmUp = await sendLoad(url, { ...load, seconds: WARM_UP_SECONDS })
  others.startOver()
  await collector.loopDelay()
  const processorBefore = collector.processorSeconds()
  const writtenBefore = collector.writtenMb()
  const { latencies, sent, failed, tookSeconds, fewestPerConnection } = await sendLoad(url, load)
  const times = await others.leave()
  const processorUsed = collector.processorSeconds() - processorBefore
  const writtenMb = collector.writtenMb() - writtenBefore
  const delay = await collector.loopDelay()
  const counted = (await ask()) - before - (warmUp.sent - warmUp.failed)
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
