const { it } = require('mocha')
const { install } = require('@sinonjs/fake-timers')
const suite = require('./suite.cjs')

let clock
suite(it, {
  'real timers': { install() {}, uninstall() {}, count: () => 0 },
  'fake timers of Sinon': {
    install() {
      clock = install()
    },
    uninstall: () => clock.uninstall(),
    count: () => clock.countTimers(),
  },
})
