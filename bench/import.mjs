/** Time of one cold `import()`, in milliseconds: `node import.mjs <specifier>`. */
const start = process.hrtime.bigint()
await import(process.argv[2])
const millis = Number(process.hrtime.bigint() - start) / 1e6
process.stdout.write(`\n${JSON.stringify({ millis })}\n`, () => process.exit(0))
