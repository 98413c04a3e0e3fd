import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { parseConfig } from '../../../collector/src/config/load.ts'
import { run } from '../../../collector/test/support/process.ts'
import { openCollector } from '../../../collector/test/support.ts'

const folder = fileURLToPath(new URL('../../deploy/', import.meta.url))
const read = (name: string) => readFileSync(`${folder}${name}`, 'utf8')
const composeFiles = readdirSync(folder).filter((name) => name.startsWith('compose'))

/** After its drain, the collector waits this many seconds for requests in flight. */
const CLOSE_SECONDS = 5
const { version } = JSON.parse(readFileSync(`${folder}../package.json`, 'utf8')) as { version: string }
const IMAGE = `trackpost-collector:${version}`
const PORT = 8787
const dockerfile = read('Dockerfile')
/** The settings that the image has. */
const image = Object.fromEntries(
  [...dockerfile.matchAll(/(TRACKPOST_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
)

interface Compose {
  services: Record<
    string,
    {
      image: string
      environment?: Record<string, string>
      command?: string[]
      ports?: string[]
      stop_grace_period?: string
      read_only?: boolean
      cap_drop?: string[]
    }
  >
}

interface Container {
  image: string
  env: Array<{ name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }>
  args?: string[]
  ports: Array<{ name: string; containerPort: number }>
  volumeMounts: Array<{ name: string; mountPath: string }>
  securityContext: object
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } }
}
interface Deployment {
  metadata: { name: string }
  spec: {
    template: {
      spec: {
        terminationGracePeriodSeconds: number
        securityContext: object
        containers: [Container]
        volumes: Array<{
          name: string
          secret?: { secretName: string; items: Array<{ key: string; path: string }> }
        }>
      }
    }
  }
}

const compose = (name: string) => parse(read(name), { merge: true }) as Compose
const deployments = parseAllDocuments(read('kubernetes.yaml')).flatMap((document) => {
  expect(document.errors).toEqual([])
  return document.get('kind') === 'Deployment' ? [document.toJS() as Deployment] : []
})

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
  ...deployments.map(({ metadata, spec }) => {
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
  // An unknown command, option or variable is an error before the port is looked at.
  const says = async (settings: Record<string, string>) => {
    const { out, err } = await run([...args, '--port', 'none'], settings)
    return out + err
  }

  expect(await says({ ...image, ...environment })).toContain("'--port <number>' argument 'none' is invalid")
  expect(await says({ ...environment, TRACKPOST_COLLECTOR_STROE: 'x' })).toContain('STROE: no option')
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

test('every probe uses an existing path of the collector, on the port that it listens on', async () => {
  const collector = await openCollector()

  expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['collector-front', 'collector-worker'])
  for (const { metadata, spec } of deployments) {
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

const made = (key: string, how: 'literal' | 'file') =>
  // A comment in the file has the command that creates every key that the pods need.
  expect(read('kubernetes.yaml')).toContain(`--from-${how}=${key}=`)

test('pods read their settings from the Secret that the commands make, and the example config is valid', () => {
  for (const { spec } of deployments) {
    const [{ env, volumeMounts }] = spec.template.spec.containers
    const path = env.find(({ name }) => name === 'TRACKPOST_COLLECTOR_CONFIG')?.value
    const volume = spec.template.spec.volumes.find(({ secret }) => secret !== undefined)
    const mount = volumeMounts.find(({ name }) => name === volume?.name)
    const [item] = volume?.secret?.items ?? []

    expect(path).toBe(`${mount?.mountPath}/${item?.path}`)
    made(String(item?.key), 'file')
    const references = env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? [])
    expect(new Set([volume?.secret?.secretName, ...references.map(({ name }) => name)])).toEqual(
      new Set(['trackpost-collector']),
    )
    for (const { key } of references) made(key, 'literal')
  }
  const [, example = ''] = /echo '(.*)' > collector\.json/.exec(read('kubernetes.yaml')) ?? []
  expect(parseConfig(JSON.parse(example), 'kubernetes.yaml')).toMatchObject({ sources: [{ name: 'shop' }] })
})

test('the collector of every image and manifest has the version of its package, and compose opens no port to other machines', () => {
  const services = composeFiles.flatMap((file) => Object.values(compose(file).services))
  const images = [...services, ...deployments.map(({ spec }) => spec.template.spec.containers[0])].map(
    ({ image: name }) => name,
  )
  expect(new Set(images.filter((one) => one.includes('trackpost')))).toEqual(new Set([IMAGE]))
  for (const name of ['collector', 'cluster'])
    expect(dockerfile).toContain(`ARG ${name.toUpperCase()}=trackpost-${name}@${version}\n`)
  for (const port of services.flatMap(({ ports = [] }) => ports)) expect(port).toMatch(/^127\.0\.0\.1:/)
})

test('no collector runs as root, keeps a capability or can write to its image', () => {
  for (const { image: name, read_only, cap_drop } of composeFiles.flatMap((file) =>
    Object.values(compose(file).services),
  ))
    if (name === IMAGE) expect([read_only, cap_drop]).toEqual([true, ['ALL']])
  for (const { spec } of deployments) {
    const { securityContext, containers } = spec.template.spec
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  }
})
