// Writes test/package/public-types.api.md, by API Extractor: each public declaration once, with the entry points that export it. The
// report is committed, so that a reviewer sees each change of the public types. Usage, after a build of the SDK and of the collector:
//   node scripts/report-types.mjs           writes the report
//   node scripts/report-types.mjs --check   fails when the report differs from the build
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
      reportFolder: folder,
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
const { errorCount } = Extractor.invoke(config, {
  localBuild: true,
  messageCallback(message) {
    message.handled = message.logLevel !== ExtractorLogLevel.Error
  },
})
const report = shorten(readFileSync(join(folder, 'public-types.api.md'), 'utf8').replaceAll('\r', ''))
rmSync(folder, { recursive: true })
const hasChanged = !existsSync(ROOT + REPORT) || report !== readFileSync(ROOT + REPORT, 'utf8')
if (hasChanged && !isCheck) writeFileSync(ROOT + REPORT, report)
if (errorCount > 0 || (isCheck && hasChanged)) process.exitCode = 1
if (hasChanged) console.log(isCheck ? `the build has other types than ${REPORT}` : `${REPORT}: written`)

/** Writes the entry points and the exported names of each declaration beside it, instead of a list of names for each entry point. */
function shorten(text) {
  const exportsOf = new Map()
  for (const [, entry, names] of text.matchAll(
    /^declare namespace (\w+) \{\n {4}export \{\n([^}]*)\n {4}\}\n\}$/gm,
  )) {
    for (const [, name, as] of names.matchAll(/(\w+)(?: as (\w+))?/g)) {
      const shown =
        entry.replace(/_(?!collector)/, '/').replace('_', '-') + (as === undefined ? '' : `: ${as}`)
      exportsOf.set(name, [...(exportsOf.get(name) ?? []), shown])
    }
  }
  const declarations = text
    .slice(text.indexOf('// @public'), text.indexOf('\n// (No @packageDocumentation'))
    .split('\n\n')
    .filter((one) => one.startsWith('// @public'))
    .map((one) => one.split('\n').slice(1))
    .map((lines) => lines.filter((line) => line.trim() !== '// (undocumented)'))
    .map(([first, ...rest]) => {
      const [, name] =
        /^(?:abstract )?(?:class|interface|type|function|const|enum|let|var) (\w+)/.exec(first) ?? []
      const entries = `// ${exportsOf.get(name)?.join(', ') ?? '(used by others)'}`
      const line = [first, ...rest.map((one) => one.trim()), entries].join(' ')
      return line.length <= 140 ? line : [`${first} ${entries}`, ...rest].join('\n')
    })
  return `Each public declaration, with the entry points that export it. Written by \`npm run report:types\`.\n\n\`\`\`ts\n${declarations.join('\n')}\n\`\`\`\n`
}
