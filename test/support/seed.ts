import fc from 'fast-check'

// Property tests use the same random values in every run, so that a failure can be repeated. To use other values:
// `PROPERTY_SEED=1234 npm run test:unit`.
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 20_261_120) })
