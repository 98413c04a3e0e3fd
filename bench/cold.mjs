/**
 * A cold start, as in a serverless function: `node cold.mjs '{"adapter":"floor","events":3,...}'`. Loads one client, tracks and
 * flushes. Prints the CPU time of the whole process, including the start of Node.js.
 */
import { loadAdapter } from './adapters/index.mjs'
import { makeEvent } from './payload.mjs'

const run = JSON.parse(process.argv[2])
const adapter = await loadAdapter(run.adapter)
const client = await adapter.open({ url: run.url, flushAt: run.flushAt })
for (let seq = 0; seq < run.events; seq++) client.track(makeEvent(seq))
await client.close()
const { user, system } = process.cpuUsage()
const result = { events: run.events, cpuMillis: (user + system) / 1000 }
process.stdout.write(`\n${JSON.stringify(result)}\n`, () => process.exit(0))
