// Writes test/package/public-types.api.md, by API Extractor: each public declaration once, and the names of each entry point. The
// report is committed, so that a reviewer sees each change of the public types. Usage, after a build of the SDK and of the collector:
//   node scripts/report-types.mjs           writes the report
//   node scripts/report-types.mjs --check   fails when the report differs from the build
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const REPORT = 'test/package/public-types.api.md'
const isCheck = process.argv.includes('--check')
const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))

/** The module that each namespace of the report describes, by the name of the namespace. */
const ENTRIES = {
  ...Object.fromEntries(
    Object.entries(exports)
      .filter(([, target]) => target.require?.types !== undefined)
      .map(([path, target]) => [path.replace('.', 'trackpost').replace('/', '_'), target.require.default]),
  ),
  trackpost_collector: './collector/dist/index.cjs',
}

/** Messages about docstrings are off, because `npm run docs` checks docstrings. */
const messages = {
  compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
  extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
  tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
}

// A module that contains all entry points as namespaces: API Extractor prints what they share only once.
mkdirSync(join(ROOT, '.cache'), { recursive: true })
const folder = mkdtempSync(join(ROOT, '.cache/types-'))
const imports = Object.entries(ENTRIES).map(([name, path]) => `import * as ${name} from '../../${path}'\n`)
const all = join(folder, 'all.d.cts')
writeFileSync(all, `${imports.join('')}export { ${Object.keys(ENTRIES).join(', ')} }\n`)

const config = ExtractorConfig.prepare({
  configObject: {
    projectFolder: ROOT,
    mainEntryPointFilePath: all,
    compiler: { tsconfigFilePath: join(ROOT, 'tsconfig.json') },
    // Includes types that are not exported, but used by exported types.
    apiReport: {
      enabled: true,
      reportFileName: 'public-types',
      reportFolder: join(ROOT, 'test/package'),
      reportTempFolder: folder,
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
rmSync(folder, { recursive: true })
if (errorCount > 0 || (isCheck && apiReportChanged)) process.exitCode = 1
if (apiReportChanged) console.log(isCheck ? `the build has other types than ${REPORT}` : `${REPORT}: written`)
