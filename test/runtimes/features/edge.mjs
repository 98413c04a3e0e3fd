// The host of edge runtimes. The test writes `entries.mjs`: the entries that a bundler accepts, and its
// errors for the others.
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
