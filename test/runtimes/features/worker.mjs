// Runs the features in a Worker.
import { waitUntil } from 'cloudflare:workers'
import * as trackpost from 'trackpost'
import { createEdgeHost } from './edge.mjs'
import { runFeatures } from './features.mjs'

export default {
  async fetch(request) {
    const host = createEdgeHost(await request.json(), trackpost)
    return Response.json(await runFeatures({ ...host, waitUntil }))
  },
}
