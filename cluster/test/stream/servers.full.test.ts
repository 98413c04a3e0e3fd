import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { hasOpenssl, makeCertificates } from '../support/certificates.ts'
import { natsTest, startNats } from '../support/nats.ts'
import { Process } from '../support/process.ts'
import { until } from '../support/stream.ts'

const tlsTest = hasOpenssl ? natsTest : test.skip

const reasonOf = async (one: Process) => (await (await fetch(`${one.url}/readyz`)).json()).reason

tlsTest(
  'over TLS, events pass with the CA of NODE_EXTRA_CA_CERTS, and only under the name of the certificate',
  async () => {
    const { ca, certificate, key } = makeCertificates()
    const server = await startNats('--tls', '--tlscert', certificate, '--tlskey', key)
    const folder = mkdtempSync(join(tmpdir(), 'trackpost-files-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const log = ['--log', server.url.replace('nats:', 'tls:')]

    const untrusting = await Process.start('without the CA', ['front', ...log])
    await until(async () => /certificate/.test(await reasonOf(untrusting)))

    vi.stubEnv('NODE_EXTRA_CA_CERTS', ca)
    onTestFinished(() => void vi.unstubAllEnvs())
    const misled = await Process.start('another name', ['front', '--log', `tls://localhost:${server.port}`])
    await until(async () => /does not match|altnames/.test(await reasonOf(misled)))

    const worker = await Process.start('worker', ['work', ...log, '--to', pathToFileURL(folder).href])
    await until(() => worker.isReady())
    const front = await Process.start('front', ['front', ...log])
    await until(() => front.isReady())
    const headers = { 'content-type': 'application/json', authorization: `Basic ${btoa('shop:')}` }
    const body = JSON.stringify({ userId: 'zoë', event: 'Paid' })
    expect((await fetch(`${front.url}/v1/track`, { method: 'POST', headers, body })).status).toBe(200)
    await until(() => readdirSync(folder).length > 0)
    const [file = ''] = readdirSync(folder)
    await until(() => readFileSync(join(folder, file), 'utf8').includes('"event":"Paid"'))
  },
)
