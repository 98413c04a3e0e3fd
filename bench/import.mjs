/** Wall and CPU time of one cold `import()`, in milliseconds: `node import.mjs <specifier>`. */
const cpu = process.cpuUsage()
const start = process.hrtime.bigint()
await import(process.argv[2])
const millis = Number(process.hrtime.bigint() - start) / 1e6
const { user, system } = process.cpuUsage(cpu)
process.stdout.write(`\n${JSON.stringify({ millis, cpuMillis: (user + system) / 1000 })}\n`, () =>
  process.exit(0),
)
