import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { COLLECTOR_FLAGS } from '../../../collector/src/cli/flags.ts'
import { parseConfig } from '../../../collector/src/config/load.ts'
import { run } from '../../../collector/test/ops/process.ts'
import { openCollector } from '../../../collector/test/support.ts'
import { readDockerfile } from './dockerfile.ts'

const folder = fileURLToPath(new URL('../../deploy/', import.meta.url))
const read = (name: string) => readFileSync(`${folder}${name}`, 'utf8')
const composeFiles = readdirSync(folder).filter((name) => name.startsWith('compose'))

/** After its drain, the collector waits this many seconds for requests in flight. */
const CLOSE_SECONDS = 5
const { version } = JSON.parse(readFileSync(`${folder}../package.json`, 'utf8')) as { version: string }
const IMAGE = `trackpost-collector:${version}`
const PORT = Number(COLLECTOR_FLAGS.port.default)
const image = Object.fromEntries(
  readDockerfile(read('Dockerfile'))
    .filter(({ name }) => name === 'ENV')
    .flatMap(({ text }) => [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
)

interface ComposeService {
  image: string
  environment?: Record<string, string>
  command?: string[]
  ports?: string[]
  volumes?: string[]
  healthcheck?: { test: string[] }
  depends_on?: Record<string, { condition: string }>
  stop_grace_period?: string
  read_only?: boolean
  mem_limit?: string
  cap_drop?: string[]
}
interface Compose {
  services: Record<string, ComposeService>
  volumes: Record<string, unknown>
}

interface Container {
  image: string
  resources: { requests: { cpu: string; memory: string }; limits: { memory: string } }
  env: Array<{ name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }>
  args?: string[]
  ports: Array<{ name: string; containerPort: number }>
  securityContext: object
  volumeMounts: Array<{ name: string; mountPath: string; readOnly?: boolean }>
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } }
}
interface Pod {
  terminationGracePeriodSeconds: number
  enableServiceLinks: boolean
  securityContext: object
  containers: [Container]
  volumes: Array<{
    name: string
    secret?: { secretName: string; items: Array<{ key: string; path: string }> }
  }>
}
interface Resource {
  kind: string
  metadata: { name: string; namespace: string }
  spec: {
    selector: Record<string, string> & { matchLabels?: Record<string, string> }
    template: { metadata: { labels: Record<string, string> }; spec: Pod }
    ports: Array<{ targetPort: string }>
    replicas?: number
    scaleTargetRef: { apiVersion: string; kind: string; name: string }
    minReplicas: number
    maxReplicas: number
    podSelector: { matchLabels?: Record<string, string> }
    policyTypes: string[]
    ingress?: Array<{ ports: Array<{ port: number | string }> }>
    egress?: Array<{
      ports?: Array<{ port: number }>
      to?: Array<{ ipBlock: { cidr: string; except: string[] } }>
    }>
  }
}

const compose = (name: string) => parse(read(name), { merge: true }) as Compose
const resources = parseAllDocuments(read('kubernetes.yaml')).map((document) => {
  expect(document.errors).toEqual([])
  return document.toJS() as Resource
})
const ofKind = (kind: string) => resources.filter((one) => one.kind === kind)

/** Every collector that the manifests start, with its settings. */
const starts = [
  ...composeFiles.flatMap((file) =>
    Object.entries(compose(file).services)
      .filter(([, service]) => service.image === IMAGE)
      .map(([name, service]) => ({
        what: `${name} of ${file}`,
        args: service.command ?? [],
        environment: service.environment ?? {},
        graceSeconds: Number(service.stop_grace_period?.replace('s', '')),
      })),
  ),
  ...ofKind('Deployment').map(({ metadata, spec }) => {
    const { containers, terminationGracePeriodSeconds } = spec.template.spec
    const [{ env, args }] = containers
    return {
      what: `${metadata.name} of kubernetes.yaml`,
      args: args ?? [],
      environment: Object.fromEntries(env.map(({ name, value }) => [name, value ?? 'a-secret'])),
      graceSeconds: terminationGracePeriodSeconds,
    }
  }),
]

test.each(starts)('the command line accepts all settings of $what', async ({ args, environment }) => {
  // An unknown command, flag or variable is an error before the help is printed.
  const known = await run([...args, '--help'], { ...image, ...environment })

  expect({ code: known.code, err: known.err }).toEqual({ code: 0, err: '' })
  const misspelt = await run([...args, '--help'], { ...environment, TRACKPOST_COLLECTOR_STROE: 'x' })
  expect(misspelt.code).toBe(1)
})

test.each(starts)('$what has more time to end than its drain needs', ({ environment, graceSeconds }) => {
  const drain = Number(environment['TRACKPOST_COLLECTOR_DRAIN'] ?? image['TRACKPOST_COLLECTOR_DRAIN'])

  expect(graceSeconds).toBeGreaterThan(drain + CLOSE_SECONDS)
})

test.each(starts)('$what contains no secret', ({ what, environment }) => {
  const secrets = Object.entries(environment).filter(([name]) => /TOKEN|PASSWORD/.test(name))
  expect(secrets.length).toBeGreaterThan(0)
  for (const [name, value] of secrets) {
    expect(value, `${name} of ${what}`).toMatch(
      what.includes('kubernetes') ? /^a-secret$/ : /^\$\{\w+:\?[^}]+\}$/,
    )
  }
})

test.each(composeFiles)(
  'in %s, every service that another one waits for has a health check, and volumes are declared',
  (file) => {
    const { services, volumes } = compose(file)

    for (const [name, service] of Object.entries(services)) {
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(condition, name).toBe('service_healthy')
        expect(services[other]?.healthcheck?.test[0], `${other} of ${name}`).toBe('CMD')
      }
      for (const volume of service.volumes ?? []) expect(Object.keys(volumes)).toContain(volume.split(':')[0])
      for (const port of service.ports ?? []) expect(port).toBe(`127.0.0.1:${PORT}:${PORT}`)
      if (service.image !== IMAGE) continue
      expect([service.read_only, service.cap_drop]).toEqual([true, ['ALL']])
    }
  },
)

test('every probe uses an existing path of the collector, on the port that it listens on', async () => {
  const collector = await openCollector()

  for (const { metadata, spec } of ofKind('Deployment')) {
    const [container] = spec.template.spec.containers
    expect(container.ports).toEqual([{ name: 'http', containerPort: PORT }])
    for (const [kind, path] of [
      ['startupProbe', '/healthz'],
      ['livenessProbe', '/healthz'],
      ['readinessProbe', '/readyz'],
    ] as const) {
      expect(container[kind]?.httpGet, `${kind} of ${metadata.name}`).toEqual({ path, port: 'http' })
      expect((await fetch(`${collector.url}${path}`)).status).toBe(200)
    }
  }
})

test('Deployments, Services and disruption budgets select the same pods', () => {
  const deployments = ofKind('Deployment')
  expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['collector-front', 'collector-worker'])
  expect(new Set(resources.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['trackpost']))

  for (const { metadata, spec } of deployments) {
    const { labels } = spec.template.metadata
    expect(spec.selector.matchLabels).toEqual(labels)
    const named = (kind: string) => ofKind(kind).find((one) => one.metadata.name === metadata.name)
    expect(named('Service')?.spec.selector).toEqual(labels)
    expect(named('Service')?.spec.ports).toMatchObject([{ targetPort: 'http' }])
    expect(named('PodDisruptionBudget')?.spec.selector.matchLabels).toEqual(labels)
  }
})

const made = (key: string, how: 'literal' | 'file') =>
  // A comment in the file has the command that creates every key that the pods need.
  expect(read('kubernetes.yaml')).toContain(`--from-${how}=${key}=`)

test('pods run as the user of the image, can write only to /tmp, and read settings from one Secret', () => {
  const uid = Number(
    readDockerfile(read('Dockerfile'))
      .find(({ name }) => name === 'USER')
      ?.text.split(':')[0],
  )

  for (const { spec } of ofKind('Deployment')) {
    const { securityContext, enableServiceLinks, containers, volumes } = spec.template.spec
    expect(enableServiceLinks).toBe(false)
    expect(securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: uid,
      fsGroup: uid,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    const [container] = containers
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const mounts = container.volumeMounts
    expect(mounts.filter(({ readOnly }) => !readOnly).map(({ mountPath }) => mountPath)).toEqual(['/tmp'])
    for (const { name } of container.volumeMounts) expect(volumes.map((one) => one.name)).toContain(name)
    for (const { valueFrom } of container.env) {
      if (valueFrom === undefined) continue
      expect(valueFrom.secretKeyRef.name).toBe('trackpost-collector')
      made(valueFrom.secretKeyRef.key, 'literal')
    }
  }
})

test('pods read the config where it is mounted, and the example config is valid', () => {
  for (const { spec } of ofKind('Deployment')) {
    const [{ env, volumeMounts }] = spec.template.spec.containers
    const path = env.find(({ name }) => name === 'TRACKPOST_COLLECTOR_CONFIG')?.value
    const volume = spec.template.spec.volumes.find(({ secret }) => secret !== undefined)
    const mount = volumeMounts.find(({ name }) => name === volume?.name)
    const [item] = volume?.secret?.items ?? []

    expect(volume?.secret?.secretName).toBe('trackpost-collector')
    expect(path).toBe(`${mount?.mountPath}/${item?.path}`)
    made(String(item?.key), 'file')
  }
  const [, example = ''] = /echo '(.*)' > collector\.json/.exec(read('kubernetes.yaml')) ?? []
  expect(parseConfig(JSON.parse(example), 'kubernetes.yaml')).toMatchObject({
    sources: [{ name: 'shop' }],
    trustedProxies: [expect.stringContaining('/')],
  })
})

test('every image has a version, and the version of the collector is that of its package', () => {
  const images = [
    ...composeFiles.flatMap((file) => Object.values(compose(file).services).map(({ image: name }) => name)),
    ...ofKind('Deployment').map(({ spec }) => spec.template.spec.containers[0].image),
  ]
  for (const name of images) expect(name).toMatch(/^[\w./-]+:\d+\.\d+[\w.-]*$/)
  for (const name of images.filter((one) => one.includes('trackpost'))) expect(name).toBe(IMAGE)
  const [base] = readDockerfile(read('Dockerfile')).filter(({ name }) => name === 'FROM')
  expect(base?.text).toMatch(/^node:\d+\.\d+\.\d+-slim AS/)
  const args = readDockerfile(read('Dockerfile')).filter(({ name }) => name === 'ARG')
  expect(args.map(({ text }) => text)).toEqual([
    `COLLECTOR=trackpost-collector@${version}`,
    `CLUSTER=trackpost-cluster@${version}`,
  ])
})

test('every process has a memory limit', () => {
  for (const file of composeFiles) {
    for (const [name, service] of Object.entries(compose(file).services)) {
      expect(service.mem_limit, `${name} of ${file}`).toMatch(/^\d+[mg]$/)
    }
  }
  for (const { spec } of ofKind('Deployment')) {
    expect(spec.template.spec.containers[0].resources.limits.memory).toMatch(/^\d+Mi$/)
  }
})

test('only the autoscaler sets the number of fronts, which is at least two', () => {
  const [scaler, ...others] = ofKind('HorizontalPodAutoscaler')
  const target = ofKind('Deployment').find(
    ({ metadata }) => metadata.name === scaler?.spec.scaleTargetRef.name,
  )

  expect(others).toEqual([])
  expect(scaler?.spec.scaleTargetRef).toMatchObject({ apiVersion: 'apps/v1', kind: 'Deployment' })
  expect(target?.metadata.name).toBe('collector-front')
  // A number in the Deployment would overrule the autoscaler at each `kubectl apply`.
  expect(target?.spec.replicas).toBeUndefined()
  expect(scaler?.spec.minReplicas).toBeGreaterThanOrEqual(2)
  expect(scaler?.spec.maxReplicas).toBeGreaterThan(scaler?.spec.minReplicas ?? 0)
})

test('each Deployment has a network policy for both directions', () => {
  const policies = ofKind('NetworkPolicy')
  for (const { metadata, spec } of ofKind('Deployment')) {
    const own = policies.find((one) => one.metadata.name === metadata.name)?.spec
    expect(own?.podSelector.matchLabels, metadata.name).toEqual(spec.template.metadata.labels)
    expect(own?.policyTypes).toEqual(['Ingress', 'Egress'])
    expect(own?.ingress?.flatMap(({ ports }) => ports)).toEqual([{ port: 'http' }])
  }
  const front = policies.find(({ metadata }) => metadata.name === 'collector-front')?.spec
  expect(front?.egress?.flatMap(({ ports }) => ports?.map(({ port }) => port))).toEqual([53, 53, 4222, 5432])
  const worker = policies.find(({ metadata }) => metadata.name === 'collector-worker')?.spec
  expect(worker?.egress?.[0]?.to?.[0]?.ipBlock.except).toEqual(['169.254.169.254/32'])
})
