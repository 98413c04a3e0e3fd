// An edge function that runs the features, in the form in which Next.js bundles edge functions.
import * as trackpost from 'trackpost'
import { createEdgeHost } from './edge.mjs'
import { runFeatures } from './features.mjs'

async function edgeFunction({ request }) {
  const { settings, waitUntil } = request
  const host = createEdgeHost(settings, trackpost)
  return { response: Response.json(await runFeatures({ ...host, waitUntil })) }
}

globalThis._ENTRIES = { middleware_features: Promise.resolve({ default: edgeFunction }) }
