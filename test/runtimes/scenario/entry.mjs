import * as trackpost from 'trackpost'
import runScenario from './scenario.cjs'

const results = await runScenario(trackpost, JSON.parse(process.env.SCENARIO))
console.log(JSON.stringify(results))
