import * as trackpost from 'trackpost'
import runScenario from './scenario.cjs'

export default {
  async fetch(request) {
    return Response.json(await runScenario(trackpost, await request.json()))
  },
}
