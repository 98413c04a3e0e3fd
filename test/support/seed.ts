import fc from 'fast-check'

// The same values in every run: a test that fails in one run in a thousand does not say where the fault is.
// For other values: `PROPERTY_SEED=1234 npm run test:unit`.
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 20_261_120) })
