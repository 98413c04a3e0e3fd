import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificates {
  ca: string
  certificate: string
  key: string
}

export const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

/** Makes an untrusted CA and a server certificate. The certificate is valid for 127.0.0.1, but not for `localhost`. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-certificates-'))
  const openssl = (args: string) => execFileSync('openssl', args.split(' '), { cwd: folder, stdio: 'pipe' })
  const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
  const signed = '-CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names'
  writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1')
  openssl(`req -x509 ${newKey} -keyout ca.key -out ca.pem -days 2 -subj /CN=test`)
  openssl(`req ${newKey} -keyout server.key -out server.csr -subj /CN=server`)
  openssl(`x509 -req -in server.csr ${signed} -out server.pem`)
  const path = (name: string) => join(folder, name)
  return { ca: path('ca.pem'), certificate: path('server.pem'), key: path('server.key') }
}
