import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { COLLECTOR_FLAGS } from '../../../collector/src/cli/flags.ts'
import { packBuilt } from '../../../collector/test/package/project.ts'
import { post, track } from '../../../collector/test/support.ts'
import { holdPort } from '../../../test/support/held-port.ts'
import { build, readDockerfile, runImage } from './dockerfile.ts'

const instructions = readDockerfile(
  readFileSync(fileURLToPath(new URL('../../deploy/Dockerfile', import.meta.url)), 'utf8'),
)

test('the commands of the Dockerfile make a collector that becomes ready', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-collector-image-'))
  chmodSync(folder, 0o755)
  const [COLLECTOR, CLUSTER] = [await packBuilt(folder), await packBuilt(folder, 'cluster')].map(
    ({ tarball }) => tarball,
  ) as [string, string]
  const image = build(instructions, folder, { COLLECTOR, CLUSTER })
  const { port, release } = await holdPort()
  onTestFinished(release)
  // The test uses another port than the exposed one, which may be in use on this machine.
  expect(image.exposed).toEqual([Number(COLLECTOR_FLAGS.port.default)])
  const added = { TRACKPOST_COLLECTOR_PORT: String(port), TRACKPOST_COLLECTOR_DRAIN: '1' }

  const child = runImage(image, image.entrypoint, added)
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  let err = ''
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  child.stderr?.on('data', (chunk) => {
    err += chunk
  })
  const ended = once(child, 'close')
  const url = `http://127.0.0.1:${port}`
  const readiness = () =>
    fetch(`${url}/readyz`).then(
      (response) => response.status,
      () => `${out}${err}`,
    )
  await expect.poll(readiness, { timeout: 30_000 }).toBe(200)

  expect((await post({ url }, '/v1/track', track())).status).toBe(200)
  const check = runImage(image, image.healthcheck, added)
  expect(await once(check, 'close')).toEqual([0, null])
  const file = statSync(join(image.root, 'data', 'trackpost-collector.db'))
  if (process.getuid?.() === 0) expect(file.uid).toBe(65_532)
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(err).toBe('')
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { message: string })
  expect(lines.map(({ message }) => message)).toContain('trackpost-collector drains for 1 s')
  const after = runImage(image, image.healthcheck, added)
  expect(await once(after, 'close')).toEqual([1, null])
}, 300_000)

test('the image does not run as root, and its base has no shell or package manager', () => {
  const last = instructions.map(({ name }) => name).lastIndexOf('FROM')
  const final = instructions.slice(last)

  expect(final[0]?.text).toMatch(/^gcr\.io\/distroless\/nodejs\d+-debian\d+:nonroot$/)
  expect(final.filter(({ name }) => name === 'RUN')).toEqual([])
  expect(final.find(({ name }) => name === 'USER')?.text).toBe('65532:65532')
})
