// The host of edge runtimes. `entries.mjs` is written by the test: what a bundler lets in, and what it says of the rest.
import { ENTRIES, REFUSALS } from './entries.mjs'

export function createEdgeHost(settings, trackpost, builtin) {
  const warnings = []
  console.warn = (message) => warnings.push(message)
  return {
    ...settings,
    trackpost,
    builtin,
    warnings,
    async load(name, Refused) {
      if (name in REFUSALS) throw new Refused(REFUSALS[name])
      return ENTRIES[name]()
    },
  }
}
