import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { startFront } from '../../src/front.ts'
import { natsTest, startNats } from '../support/nats.ts'
import { promtool, promtoolTest } from '../support/promtool.ts'
import { attached, openStream, SETTINGS, startWorker } from '../support/stream.ts'

interface Rule {
  alert: string
  expr: string
  for: string
  labels: { severity: string }
}

const file = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
const alerts = file('deploy/prometheus/alerts.yaml')
const rules = (parse(alerts) as { groups: [{ rules: Rule[] }] }).groups[0].rules

interface Case {
  /** Series with which the alert fires at the time `at`, and not in the first minute. */
  fires: Record<string, string>
  at: string
  never: Record<string, string>
}

const CASES: Readonly<Record<string, Case>> = {
  TrackpostClusterDown: {
    fires: { 'up{job="trackpost-cluster",instance="a"}': '1 0x40' },
    at: '4m',
    // A restart.
    never: { 'up{job="trackpost-cluster",instance="a"}': '1 0 0 1x40' },
  },
  TrackpostClusterGone: {
    fires: { 'up{job="another"}': '1x40' },
    at: '6m',
    never: { 'up{job="trackpost-cluster"}': '1x200' },
  },
  TrackpostClusterNotReady: {
    fires: {
      'trackpost_cluster_ready{instance="a"}': '1 0x40',
      'trackpost_cluster_ready{instance="b"}': '1x40',
    },
    at: '4m',
    never: { 'trackpost_cluster_ready{instance="a"}': '1 0 0 1x40' },
  },
  TrackpostClusterRefusesRequests: {
    fires: {
      'trackpost_collector_requests_total{job="trackpost-cluster"}': '0+100x40',
      'trackpost_collector_requests_failed_total{job="trackpost-cluster"}': '0+2x40',
    },
    at: '12m',
    never: {
      'trackpost_collector_requests_total{job="trackpost-cluster"}': '0+1000x40',
      'trackpost_collector_requests_failed_total{job="trackpost-cluster"}': '0+2x40',
    },
  },
  TrackpostClusterStreamFills: {
    fires: { 'trackpost_cluster_stream_fill_ratio{instance="a"}': '0.5 0.8x40' },
    at: '7m',
    never: { 'trackpost_cluster_stream_fill_ratio{instance="a"}': '0.5 0.9 0.6x40' },
  },
  TrackpostClusterDestinationBehind: {
    fires: { 'trackpost_cluster_lag_seconds{destination="CRM"}': '0+30x40' },
    at: '15m',
    never: { 'trackpost_cluster_lag_seconds{destination="CRM"}': '1 400 20x40' },
  },
  TrackpostClusterNoWorker: {
    fires: { 'trackpost_cluster_lag_seconds{destination="CRM"}': '1x20 _x300' },
    at: '65m',
    // One of two workers ends.
    never: {
      'trackpost_cluster_lag_seconds{destination="CRM",instance="a"}': '1x20 _x300',
      'trackpost_cluster_lag_seconds{destination="CRM",instance="b"}': '1x320',
    },
  },
  TrackpostClusterDeadLetters: {
    fires: { 'trackpost_cluster_dead_letters{instance="a"}': '0 1x40' },
    at: '7m',
    never: { 'trackpost_cluster_dead_letters{instance="a"}': '0x40' },
  },
}

const series = (given: Record<string, string>) =>
  Object.entries(given).map(([name, values]) => ({ series: name, values }))

/** The times at which an alert must fire, or not, with these series. */
const seen = (name: string, given: Record<string, string>, times: Record<string, boolean>) => ({
  interval: '30s',
  input_series: series(given),
  alert_rule_test: Object.entries(times).map(([time, isFiring]) => ({
    eval_time: time,
    alertname: name,
    exp_alerts: isFiring ? [{ exp_labels: {} }] : [],
  })),
})

test('there are eight alerts, each with a case and a line in the runbook', () => {
  expect(rules.map(({ alert }) => alert).toSorted()).toEqual(Object.keys(CASES).toSorted())
  expect(rules).toHaveLength(8)
  const [, runbook = ''] = file('../docs/cluster.md').split('## Runbook')
  for (const { alert } of rules) expect(runbook).toMatch(new RegExp(`^\\| \`${alert}\` \\| .{40,} \\|$`, 'm'))
})

promtoolTest('each alert fires when it should, and not before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-alerts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  // Only whether an alert fires is tested, not its texts: a rule without annotations has none to compare.
  const plain = rules.map(({ alert, expr, for: delay }) => ({
    alert,
    expr: `vector(1) and on() (${expr})`,
    for: delay,
  }))
  writeFileSync(join(folder, 'alerts.yaml'), stringify({ groups: [{ name: 'all', rules: plain }] }))
  const tests = Object.entries(CASES).flatMap(([name, { fires, at, never }]) => [
    seen(name, fires, { '1m': false, [at]: true }),
    seen(name, never, { '4m': false, '7m': false, '10m': false, '15m': false, '65m': false }),
  ])
  const all = { rule_files: ['alerts.yaml'], evaluation_interval: '30s', tests }
  writeFileSync(join(folder, 'tests.yaml'), stringify(all))

  const run = promisify(execFile)(promtool as string, ['test', 'rules', 'tests.yaml'], { cwd: folder })

  await expect(run).resolves.toBeDefined()
})

promtoolTest('Prometheus accepts the files', async () => {
  const folder = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url))

  const { stdout } = await promisify(execFile)(promtool as string, ['check', 'config', 'prometheus.yml'], {
    cwd: folder,
  })

  expect(stdout).toContain('8 rules found')
})

natsTest('a running front and a running worker have every metric and label of the alerts', async () => {
  const { url } = await startNats()
  const stream = await openStream(url)
  const { worker } = startWorker(stream)
  await attached(stream)
  const front = await startFront({
    address: url,
    settings: SETTINGS,
    port: 0,
    host: '127.0.0.1',
    allowPublic: false,
    onFault() {},
  })
  onTestFinished(() => front.close())

  const text = (await (await fetch(`${front.url}/metrics`)).text()) + (await worker.metrics())

  for (const { alert, expr } of rules) {
    for (const [metric] of expr.matchAll(/trackpost_\w+/g))
      expect(text, alert).toMatch(new RegExp(`^${metric}[ {]`, 'm'))
    if (expr.includes('(destination)'))
      expect(text).toContain('trackpost_cluster_lag_seconds{destination="Memory"}')
  }
  const names = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([
    'trackpost_cluster_ready',
    'trackpost_cluster_stream_fill_ratio',
  ])
})
