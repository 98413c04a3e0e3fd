import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readArguments } from '../../src/arguments.ts'

const read = (name: string) => readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), 'utf8')

const { version } = JSON.parse(read('package.json')) as { version: string }
const IMAGE = `trackpost-cluster:${version}`
/** What a process needs at most after SIGTERM: requests in flight and their events, or the batches that are being written. */
const END_SECONDS = 10

interface Service {
  image: string
  command?: string[]
  environment?: Record<string, string>
  ports?: string[]
  stop_grace_period?: string
  read_only?: boolean
  cap_drop?: string[]
}

interface Pod {
  terminationGracePeriodSeconds: number
  securityContext: object
  containers: [
    {
      image: string
      args: string[]
      env: Array<{
        name: string
        value?: string
        valueFrom?: { secretKeyRef: { name: string; key: string } }
      }>
      ports: Array<{ containerPort: number }>
      securityContext: object
      [probe: `${string}Probe`]: { httpGet: { path: string } }
    },
  ]
}

const services = Object.entries(
  (parse(read('deploy/compose.yaml'), { merge: true }) as { services: Record<string, Service> }).services,
)
const documents = parseAllDocuments(read('deploy/kubernetes.yaml')).map((document) => {
  expect(document.errors).toEqual([])
  return document.toJS()
})
const pods = documents
  .filter(({ kind }) => kind === 'Deployment')
  .map(({ metadata, spec }) => [metadata.name as string, spec.template.spec as Pod] as const)
const image = Object.fromEntries(
  [...read('deploy/Dockerfile').matchAll(/(TRACKPOST_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
)

/** Every process that the files start. */
const starts = [
  ...services
    .filter(([, service]) => service.image === IMAGE)
    .map(([name, { command, environment, stop_grace_period }]) => ({
      what: `${name} of compose.yaml`,
      args: command ?? [],
      env: environment ?? {},
      graceSeconds: Number(stop_grace_period?.replace('s', '')),
    })),
  ...pods.map(([name, { containers, terminationGracePeriodSeconds }]) => ({
    what: `${name} of kubernetes.yaml`,
    args: containers[0].args,
    env: Object.fromEntries(containers[0].env.map((one) => [one.name, one.value ?? 'nats://a-secret'])),
    graceSeconds: terminationGracePeriodSeconds,
  })),
]

test.each(starts)('the command line accepts all settings of $what', ({ args, env }) => {
  expect(readArguments(args, { ...image, ...env }).values['log']).toMatch(/^nats:/)
  expect(() => readArguments(args, { ...env, TRACKPOST_CLUSTER_LGO: 'x' })).toThrow('LGO: no such option')
})

test.each(starts)('$what has more time to end than it needs', ({ graceSeconds }) => {
  expect(graceSeconds).toBeGreaterThan(END_SECONDS + 5)
})

test('no file has a secret, and compose opens no port to other machines', () => {
  for (const [, { environment = {}, ports = [] }] of services) {
    for (const [name, value] of Object.entries(environment))
      if (/PASSWORD|_TO$/.test(name)) expect(value).toMatch(/\$\{\w+:\?[^}]+\}/)
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
  }
  for (const [, { containers }] of pods)
    for (const { name, value } of containers[0].env) if (/LOG$|_TO$/.test(name)) expect(value).toBeUndefined()
})

test('no process runs as root, keeps a capability or can write to its image', () => {
  for (const [, { image: name, read_only, cap_drop }] of services)
    if (name === IMAGE) expect([read_only, cap_drop]).toEqual([true, ['ALL']])
  for (const [, { securityContext, containers }] of pods) {
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  }
})

test('probes and policies name the port and the paths of the processes, and images have the version of the package', () => {
  for (const [name, { containers }] of pods) {
    const [container] = containers
    expect(container.image).toBe(IMAGE)
    expect(container.ports[0]?.containerPort).toBe(Number(image['TRACKPOST_CLUSTER_PORT']))
    expect(container['livenessProbe']?.httpGet.path, name).toBe('/healthz')
    expect(container['startupProbe']?.httpGet.path).toBe('/healthz')
    expect(container['readinessProbe']?.httpGet.path).toBe('/readyz')
  }
  for (const name of ['cluster', 'collector'])
    expect(read('deploy/Dockerfile')).toContain(`ARG ${name.toUpperCase()}=trackpost-${name}@${version}\n`)
  const selected = documents.flatMap(({ kind, spec }) =>
    kind === 'NetworkPolicy' ? [spec.podSelector.matchLabels] : [],
  )
  expect(selected.map((labels) => labels['app.kubernetes.io/component'])).toEqual(['front', 'worker'])
})
