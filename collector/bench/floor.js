/**
 * CPU time per event, compared with a bare `node:http` server that parses JSON and responds. Both get the same load in turns,
 * so that other work of the machine affects both.
 *
 * Usage: node bench/floor.js [--batch 100] [--rate 10000] [--connections 20] [--seconds 4] [--rounds 5] [--profile folder] [--beside bin]
 *
 * Prints the medians of the rounds, and the CPU time of the bare server divided by that of the collector. --beside names the
 * program of another build of the collector, which gets the same load in turns with this one.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { processorSeconds, startCollectorProcess } from './collector-process.js'
import { sendLoad } from './load.js'

const { values } = parseArgs({
  options: {
    batch: { type: 'string', default: '100' },
    rate: { type: 'string', default: '10000' },
    connections: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    profile: { type: 'string' },
    beside: { type: 'string' },
  },
})
const load = {
  batch: Number(values.batch),
  rate: Number(values.rate),
  connections: Number(values.connections),
  seconds: Number(values.seconds),
}

const BARE = `require('node:http').createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk)).on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString())
    response.setHeader('content-type', 'application/json')
    response.end('{"success":true}')
  })
}).listen(0, '127.0.0.1', function () { console.log('http://127.0.0.1:' + this.address().port) })`

async function startBare() {
  const child = spawn(process.execPath, ['-e', BARE], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { url: new URL(String(line)), used: () => processorSeconds(child.pid), stop: () => child.kill() }
}

async function startCollector(options) {
  const { url, processorSeconds, stop } = await startCollectorProcess(options)
  return { url, used: processorSeconds, stop }
}

/** CPU time per event, in microseconds. */
async function cost({ url, used }) {
  const before = used()
  const { sent, failed } = await sendLoad(url, load)
  if (failed > 0) throw new Error(`${failed} events failed`)
  return ((used() - before) / sent) * 1e6
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]

const servers = { bare: await startBare(), collector: await startCollector({ profile: values.profile }) }
if (values.beside !== undefined) servers.other = await startCollector({ bin: values.beside })
// A warm-up: Node.js compiles the code of each process.
for (const server of Object.values(servers)) await cost(server)
const rounds = []
for (let round = 0; round < Number(values.rounds); round++) {
  const costs = {}
  for (const [name, server] of Object.entries(servers)) costs[name] = await cost(server)
  rounds.push(costs)
}
for (const server of Object.values(servers)) await server.stop()
const of = (what) => median(rounds.map(what))
const floor = of(({ bare }) => bare).toFixed(1)
const own = of(({ collector }) => collector).toFixed(1)
const share = of(({ bare, collector }) => bare / collector).toFixed(3)
console.log(
  `${load.batch} events a request: ${floor} µs an event bare, ${own} µs the collector; ${share} x the floor's rate`,
)
if (servers.other !== undefined) {
  const other = of((round) => round.other).toFixed(1)
  const ratio = of((round) => round.other / round.collector).toFixed(3)
  console.log(`the other build: ${other} µs an event, ${ratio} x this one`)
}
