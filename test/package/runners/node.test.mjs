import { mock, test } from 'node:test'
import suite from './suite.cjs'

const none = { install() {}, uninstall() {}, count: () => 0 }
const timers = { 'real timers': none }
if (mock.timers !== undefined) {
  const apis = ['setTimeout', 'setInterval', 'setImmediate']
  timers['mock timers'] = {
    install: () => mock.timers.enable({ apis }),
    uninstall: () => mock.timers.reset(),
    count: () => 0,
  }
}
suite(test, timers)
