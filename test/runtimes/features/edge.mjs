// Creates the `host` argument of features.mjs on edge runtimes. features.test.ts writes `entries.mjs`: the entry
// points of the package that can be bundled, and the bundler's error for each of the others.
import { ENTRIES, REFUSALS } from './entries.mjs'

export function createEdgeHost(settings, trackpost) {
  const warnings = []
  console.warn = (message) => warnings.push(message)
  return {
    ...settings,
    trackpost,
    warnings,
    async load(name, Refused) {
      if (name in REFUSALS) throw new Refused(REFUSALS[name])
      return ENTRIES[name]()
    },
  }
}
