import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { newFolder, run, start } from '../../../collector/test/ops/process.ts'
import { parseMetrics, type Sample } from '../../../collector/test/ops/prometheus.ts'
import { post, track } from '../../../collector/test/support.ts'
import { natsTest, startNats } from '../support/nats.ts'
import { promtool, promtoolTest } from '../support/promtool.ts'
import { groupingsOf, labelsInText, selectorsOf } from './promql.ts'

const folder = fileURLToPath(new URL('../../deploy/', import.meta.url))
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const adminToken = 'correct-horse-battery'

interface Rule {
  alert: string
  expr: string
  for: string
  labels: Record<string, string>
  annotations: { summary: string; description: string }
}
interface Panel {
  id: number
  title: string
  description: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets: Array<{ refId: string; expr: string; legendFormat: string; datasource: { uid: string } }>
}
interface Deployment {
  kind: string
  metadata: { namespace: string }
  spec: { template: { metadata: { labels: Record<string, string> } } }
}
interface ScrapeJob {
  job_name: string
  metrics_path: string
  authorization: { type: string; credentials_file: string }
  static_configs: Array<{ targets: string[] }>
}

const { groups } = parse(read('prometheus/alerts.yaml')) as { groups: Array<{ rules: Rule[] }> }
const rules = groups.flatMap((group) => group.rules)
const { scrape_configs, rule_files } = parse(read('prometheus/prometheus.yaml')) as {
  scrape_configs: [ScrapeJob]
  rule_files: string[]
}
const [job] = scrape_configs
const dashboard = JSON.parse(read('grafana/dashboard.json')) as {
  panels: Panel[]
  templating: {
    list: Array<{ name: string; query: string | { query: string }; current?: { value: string } }>
  }
}

/** The labels that Prometheus adds to each sample and target. */
const OF_PROMETHEUS = ['job', 'instance']

async function scrape(url: string): Promise<Sample[]> {
  const file = join(newFolder(), 'trackpost-read-token')
  writeFileSync(file, `${adminToken}\n`)
  const { type } = job.authorization
  const authorization = `${type} ${readFileSync(file, 'utf8').trim()}`
  const response = await fetch(`${url}${job.metrics_path}`, { headers: { authorization } })
  expect(response.status).toBe(200)
  return parseMetrics(await response.text())
}

const questions = [
  ...rules.map(({ alert, expr, annotations }) => ({
    where: alert,
    expr,
    text: `${annotations.summary} ${annotations.description}`,
  })),
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({ where: title, expr, text: legendFormat })),
  ),
]

/** The metrics and labels that the expressions use, but no sample has. */
function missingFrom(samples: readonly Sample[]): string[] {
  const labelsOf = (metric: string) => {
    const own = samples.filter(({ name }) => name === metric)
    return { own, labels: new Set([...own.flatMap((one) => Object.keys(one.labels)), ...OF_PROMETHEUS]) }
  }
  return questions.flatMap(({ where, expr, text }) => {
    const selectors = selectorsOf(expr).filter(({ metric }) => metric !== 'up')
    const known = selectors.map(({ metric }) => labelsOf(metric))
    const groupedBy = [...groupingsOf(expr), ...labelsInText(text)].filter(
      (label) => selectors.length > 0 && !known.some(({ labels }) => labels.has(label)),
    )
    const inSelectors = selectors.flatMap(({ metric, matchers }, index) => {
      const { own, labels } = known[index] ?? { own: [], labels: new Set() }
      if (own.length === 0) return [`${metric} is not a metric`]
      return matchers.flatMap(({ label, operator, value }) => {
        if (!labels.has(label)) return [`${metric} has no ${label}`]
        const isThere = OF_PROMETHEUS.includes(label) || own.some((one) => one.labels[label] === value)
        const isAny =
          operator.endsWith('~') &&
          own.some((one) => new RegExp(`^(?:${value})$`).test(one.labels[label] ?? ''))
        return isThere || isAny ? [] : [`no ${metric} has ${label}${operator}"${value}"`]
      })
    })
    return [...groupedBy.map((label) => `nothing has a ${label}`), ...inSelectors].map(
      (what) => `${where}: ${what}`,
    )
  })
}

natsTest('running collectors have all metrics and labels that the alerts and the dashboard use', async () => {
  const refusing = createServer((_request, response) => response.writeHead(404).end())
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void refusing.close())
  const config = join(newFolder(), 'collector.json')
  const url = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/`
  writeFileSync(config, JSON.stringify({ destinations: [{ name: 'CRM', type: 'webhook', url }] }))
  const { url: log } = await startNats()
  const common = ['--port', '0', '--log', log, '--config', config]
  const admin = { TRACKPOST_ADMIN_TOKEN: adminToken }
  const front = await start([...common, '--fail-rate', '0'], admin)
  const worker = await start(['work', ...common, '--store', join(newFolder(), 'events.db')], admin)
  const same = track()
  await post(front, '/v1/batch', { batch: [same, { type: 'track', userId: 'u' }] })
  await post(worker, '/v1/track', same)
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  await fetch(`${front.url}/api/faults`, { method: 'POST', headers, body: '{"status":503}' })
  expect((await post(front, '/v1/track', track())).status).toBe(503)

  // The worker stores the events of the front, and gives up the delivery that the destination refuses.
  const all = async () => [...(await scrape(front.url)), ...(await scrape(worker.url))]
  await expect.poll(async () => missingFrom(await all())).toEqual([])
})

test('an expression with an unknown metric or label is found', () => {
  const samples: Sample[] = [{ name: 'trackpost_collector_ready', labels: { part: 'store' }, value: 1 }]

  const missing = missingFrom(samples)

  expect(missing).toContain('TrackpostCollectorLag: trackpost_collector_lag_seconds is not a metric')
  expect(missing.filter((one) => one.startsWith('TrackpostCollectorNotReady'))).toEqual([])
  expect(selectorsOf('sum by (up) (rate(process_x_total{a="b",c=~"d|e"}[5m])) / up')).toEqual([
    {
      metric: 'process_x_total',
      matchers: [
        { label: 'a', operator: '=', value: 'b' },
        { label: 'c', operator: '=~', value: 'd|e' },
      ],
    },
    { metric: 'up', matchers: [] },
  ])
})

test('each alert has a delay, a severity and a description', () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  for (const { alert, for: patience, labels, annotations, expr } of rules) {
    expect(patience, alert).toMatch(/^\d+[mh]$/)
    expect(['page', 'ticket'], alert).toContain(labels['severity'])
    expect(annotations.description.length, alert).toBeGreaterThan(60)
    for (const { metric, matchers } of selectorsOf(expr)) {
      // Other programs have metrics with these names too, so the expression must select the job.
      if (!metric.startsWith('trackpost_')) {
        expect(matchers, alert).toContainEqual({ label: 'job', operator: '=', value: job.job_name })
      }
    }
  }
})

test('the dashboard uses the job of the scrape example, and its panels do not overlap', () => {
  const [source, variable] = dashboard.templating.list
  expect([source?.name, variable?.name, variable?.current?.value]).toEqual([
    'datasource',
    'job',
    job.job_name,
  ])
  const taken = new Set<string>()
  const { panels } = dashboard
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  for (const { title, description, gridPos, targets } of panels) {
    expect(description.length, title).toBeGreaterThan(10)
    for (const { expr, datasource } of targets) {
      expect(datasource.uid, title).toMatch(/^\$\{datasource\}$/)
      for (const { matchers } of selectorsOf(expr)) {
        expect(matchers, title).toContainEqual({ label: 'job', operator: '=', value: '$job' })
      }
    }
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x} ${y}`), `${title} at ${x} ${y}`).toBe(false)
        taken.add(`${x} ${y}`)
      }
    }
  }
})

test('the scrape example works with the default address and the admin token', async () => {
  const help = await run(['--help'])
  const [, port = ''] = /--port <number>.*\((\d+)\)/.exec(help.out) ?? []

  expect(job.static_configs[0]?.targets).toEqual([`127.0.0.1:${port}`])
  const collector = await start(['--port', '0'], { TRACKPOST_ADMIN_TOKEN: adminToken })
  expect((await fetch(`${collector.url}${job.metrics_path}`)).status).toBe(401)
  expect((await scrape(collector.url)).length).toBeGreaterThan(20)
})

function installed(): string {
  const place = mkdtempSync(join(tmpdir(), 'trackpost-prometheus-'))
  mkdirSync(join(place, 'etc'))
  writeFileSync(join(place, 'etc', 'token'), adminToken)
  const config = read('prometheus/prometheus.yaml').replaceAll(
    job.authorization.credentials_file,
    join(place, 'etc', 'token'),
  )
  writeFileSync(join(place, 'prometheus.yaml'), config)
  for (const name of rule_files) copyFileSync(join(folder, 'prometheus', name), join(place, name))
  copyFileSync(fileURLToPath(new URL('./alerts.promtool.yaml', import.meta.url)), join(place, 'tests.yaml'))
  return place
}

promtoolTest('promtool accepts the files, and each alert fires when it should and not before', async () => {
  const cwd = installed()
  const check = (...args: string[]) => promisify(execFile)(promtool as string, args, { cwd })

  expect((await check('check', 'config', 'prometheus.yaml')).stdout).toContain(`${rules.length} rules found`)
  await check('test', 'rules', 'tests.yaml')
  const tested = readFileSync(join(cwd, 'tests.yaml'), 'utf8')
  for (const { alert } of rules) expect(tested).toContain(`alertname: ${alert}\n`)
  // The tests of the rules must fail if the rules fire at once.
  writeFileSync(join(cwd, 'alerts.yaml'), read('prometheus/alerts.yaml').replace(/for: \d+m/g, 'for: 0m'))
  await expect(check('test', 'rules', 'tests.yaml')).rejects.toThrow('FAILED')
})

test('the commented-out scrape job for Kubernetes finds the pods of the manifest, and uses the same token', () => {
  const [, commented = ''] = read('prometheus/prometheus.yaml').split('  # - job_name')
  const [inCluster] = parse(`- job_name${commented.replace(/^ {2}# {3}/gm, '  ')}`) as [
    ScrapeJob & {
      kubernetes_sd_configs: Array<{ role: string; namespaces: { names: string[] } }>
      relabel_configs: Array<{ source_labels: string[]; regex?: string; action?: string }>
    },
  ]
  const deployments = parseAllDocuments(read('kubernetes.yaml'))
    .map((document) => document.toJS() as Deployment)
    .filter(({ kind }) => kind === 'Deployment')

  expect(inCluster.job_name).toBe(job.job_name)
  expect(inCluster.authorization.credentials_file).toBe(job.authorization.credentials_file)
  const [kept] = inCluster.relabel_configs.filter(({ action }) => action === 'keep')
  expect(kept?.source_labels).toEqual(['__meta_kubernetes_pod_label_app_kubernetes_io_name'])
  expect(deployments.length).toBeGreaterThan(0)
  for (const { metadata, spec } of deployments) {
    expect(inCluster.kubernetes_sd_configs[0]?.namespaces.names).toEqual([metadata.namespace])
    expect(spec.template.metadata.labels['app.kubernetes.io/name']).toBe(kept?.regex)
  }
})
