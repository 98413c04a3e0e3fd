// Writes a report of the public types of each entry point to test/package/public-types/, by API Extractor. The reports are
// committed, so that a reviewer sees each change of the public types. Usage, after a build of the SDK and of the collector:
//   node scripts/report-types.mjs           writes the reports
//   node scripts/report-types.mjs --check   fails when a report differs from the build
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const REPORTS = `${ROOT}test/package/public-types`
const isCheck = process.argv.includes('--check')
const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))

/** The declaration file that each report describes, by the name of the report. */
const ENTRIES = {
  ...Object.fromEntries(
    Object.entries(exports)
      .filter(([, target]) => target.require?.types !== undefined)
      .map(([path, target]) => [path.replace('.', 'trackpost').replace('/', '-'), target.require.types]),
  ),
  'trackpost-collector': './collector/dist/index.d.cts',
}

/** Messages about docstrings are off, because `npm run docs` checks docstrings. */
const messages = {
  compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
  extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
  tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
}

mkdirSync(REPORTS, { recursive: true })
const reportTempFolder = mkdtempSync(join(tmpdir(), 'trackpost-types-'))
for (const [name, declarations] of Object.entries(ENTRIES)) {
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: ROOT,
      mainEntryPointFilePath: join(ROOT, declarations),
      compiler: { tsconfigFilePath: join(ROOT, 'tsconfig.json') },
      // Includes types that are not exported, but used by exported types.
      apiReport: {
        enabled: true,
        reportFileName: name,
        reportFolder: REPORTS,
        reportTempFolder,
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages,
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: `${ROOT}package.json`,
  })
  const { apiReportChanged, errorCount } = Extractor.invoke(config, {
    localBuild: !isCheck,
    messageCallback(message) {
      message.handled = message.logLevel !== ExtractorLogLevel.Error
    },
  })
  if (errorCount > 0) process.exitCode = 1
  if (!apiReportChanged) continue
  if (isCheck) process.exitCode = 1
  console.log(`${name}: ${isCheck ? 'the build has other types than test/package/public-types' : 'written'}`)
}
rmSync(reportTempFolder, { recursive: true })
