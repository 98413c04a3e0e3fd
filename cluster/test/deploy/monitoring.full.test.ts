import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { parseMetrics, type Sample } from '../../../collector/test/ops/prometheus.ts'
import { newDatabaseFile, newFolder, run, start } from '../../../collector/test/support/process.ts'
import { post, serve, track } from '../../../collector/test/support.ts'
import { natsTest, startNats } from '../support/nats.ts'
import { promtool, promtoolTest } from '../support/promtool.ts'
import { groupingsOf, labelsInText, selectorsOf } from './promql.ts'

const folder = fileURLToPath(new URL('../../deploy/', import.meta.url))
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const adminToken = 'correct-horse-battery'

interface Rule {
  alert: string
  expr: string
  annotations: { summary: string; description?: string }
}
interface RuleTest {
  alert_rule_test: Array<{ alertname: string; exp_alerts: object[] }>
}
interface Panel {
  title: string
  targets: Array<{ expr: string; legendFormat: string }>
}
interface ScrapeJob {
  job_name: string
  metrics_path: string
  authorization: { type: string; credentials_file: string }
  static_configs: Array<{ targets: string[] }>
}

const { groups } = parse(read('prometheus/alerts.yaml')) as { groups: Array<{ rules: Rule[] }> }
const rules = groups.flatMap((group) => group.rules)
const { scrape_configs } = parse(read('prometheus/prometheus.yaml')) as {
  scrape_configs: [ScrapeJob]
}
const [job] = scrape_configs
const { panels } = JSON.parse(read('grafana/dashboard.json')) as { panels: Panel[] }

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
  ...panels.flatMap(({ title, targets }) =>
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
  const url = await serve((_request, response) => response.writeHead(404).end())
  const config = join(newFolder(), 'collector.json')
  writeFileSync(config, JSON.stringify({ destinations: [{ name: 'CRM', type: 'webhook', url }] }))
  const { url: log } = await startNats()
  const common = ['--port', '0', '--log', log, '--config', config]
  const admin = { TRACKPOST_ADMIN_TOKEN: adminToken }
  const front = await start([...common, '--fail-rate', '0'], admin)
  const worker = await start(['work', ...common, '--store', newDatabaseFile()], admin)
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

test('an expression with metrics that other programs have too selects the job of the collector', () => {
  for (const { where, expr } of questions) {
    for (const { metric, matchers } of selectorsOf(expr)) {
      const job = matchers.find(({ label, operator }) => label === 'job' && operator === '=')?.value
      if (job !== '$job' && !metric.startsWith('trackpost_')) expect(job, where).toBe('trackpost-collector')
    }
  }
  expect(job.job_name).toBe('trackpost-collector')
})

test('the scrape example works with the default address and the admin token', async () => {
  const help = await run(['--help'])
  const [, port = ''] = /--port <number>.*\(default: (\d+)/.exec(help.out) ?? []

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
  copyFileSync(fileURLToPath(new URL('./alerts.promtool.yaml', import.meta.url)), join(place, 'tests.yaml'))
  return place
}

promtoolTest('promtool accepts the files, and each alert fires when it should and not before', async () => {
  const cwd = installed()
  copyFileSync(join(folder, 'prometheus/alerts.yaml'), join(cwd, 'alerts.yaml'))
  const check = (...args: string[]) => promisify(execFile)(promtool as string, args, { cwd })

  expect((await check('check', 'config', 'prometheus.yaml')).stdout).toContain(`${rules.length} rules found`)
  // The tests of the rules do not repeat the descriptions.
  for (const { annotations } of rules) {
    expect(annotations.description).toMatch(/.{40}/)
    delete annotations.description
  }
  const tried = stringify({ groups })
  writeFileSync(join(cwd, 'alerts.yaml'), tried)
  await check('test', 'rules', 'tests.yaml')
  const { tests } = parse(readFileSync(join(cwd, 'tests.yaml'), 'utf8')) as { tests: RuleTest[] }
  const alertsThat = (fire: boolean, among: RuleTest[]) =>
    among
      .flatMap((one) => one.alert_rule_test)
      .filter(({ exp_alerts }) => exp_alerts.length > 0 === fire)
      .map(({ alertname }) => alertname)
  const names = rules.map(({ alert }) => alert)
  expect(names.filter((name) => !alertsThat(true, tests).includes(name))).toEqual([])
  expect(alertsThat(false, tests.slice(-1))).toEqual(names)
  // The tests of the rules must fail if the rules fire at once.
  writeFileSync(join(cwd, 'alerts.yaml'), tried.replace(/for: \d+m/g, 'for: 0m'))
  await expect(check('test', 'rules', 'tests.yaml')).rejects.toThrow('FAILED')
})
