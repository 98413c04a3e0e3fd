const trackpost = require('trackpost')
const runScenario = require('./scenario.cjs')

runScenario(trackpost, JSON.parse(process.env.SCENARIO)).then((results) =>
  console.log(JSON.stringify(results)),
)
