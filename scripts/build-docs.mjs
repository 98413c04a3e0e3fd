// Builds the documentation site into docs/.vitepress/dist: the guides of docs/, the READMEs that are guides too, and the
// reference, which typedoc writes from the sources. Warnings, links to pages that do not exist, and exports without a docstring are
// errors; a test checks the anchors in the guides. Usage: `node scripts/build-docs.mjs`
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CLUSTER, CONTRIBUTORS, ELSEWHERE, ENTRIES, GUIDES } from '../docs/.vitepress/guides.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DOCS = join(ROOT, 'docs')
const PAGES = join(DOCS, '.vitepress/pages')
const SITE = join(DOCS, '.vitepress/dist')
const REPOSITORY = 'https://github.com/trackpost/trackpost/blob/main'

const { description, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
/** `index`, `node`, ... */
const entries = Object.keys(exports)
  .filter((name) => name !== './package.json')
  .map((name) => (name === '.' ? 'index' : name.slice(2)))

for (const folder of [PAGES, SITE]) rmSync(folder, { recursive: true, force: true })
copyGuides()
await makeReference()
writeFileSync(join(PAGES, 'sidebar.json'), JSON.stringify(sidebar(), null, 2))
writeFileSync(join(PAGES, 'public/llms.txt'), llms())
await run('npx', ['vitepress', 'build', 'docs'], /\(!\)|warn(?:ing)?\b/i)

/** Ends the build if the command fails, or its output matches `warning`. */
function run(program, args, warning) {
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', npm_config_loglevel: 'error' }
  return new Promise((resolve) => {
    execFile(program, args, { cwd: ROOT, env, maxBuffer: 16_777_216 }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`
      if (error !== null || warning?.test(output)) fail(`${program} ${args.join(' ')}\n${output}`)
      resolve()
    })
  })
}

function fail(message) {
  console.error(message)
  process.exit(1)
}

/** The pages of the site, each with the path of its source in the repository. */
function documents() {
  return new Map([
    ...guidesIn(DOCS).map((name) => [name, `docs/${name}.md`]),
    ...Object.entries(ELSEWHERE).map(([name, { source }]) => [name, source]),
  ])
}

/** Paths in docs/, without the extension. */
function guidesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name.startsWith('.') ? [] : guidesIn(path)
    return entry.name.endsWith('.md') ? [relative(DOCS, path).slice(0, -3)] : []
  })
}

function copyGuides() {
  for (const folder of ['public', 'images'])
    cpSync(join(DOCS, folder), join(PAGES, folder), { recursive: true })
  for (const [name, source] of documents()) {
    const target = join(PAGES, `${name}.md`)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, toPage(name, source))
  }
}

/**
 * Removes hidden code. A link to the source of another page becomes a link to that page, and a link to any other file a link to
 * GitHub.
 */
function toPage(name, source) {
  const { title } = ELSEWHERE[name] ?? {}
  const markdown = readFileSync(join(ROOT, source), 'utf8')
  const page = markdown
    .replace(/<!-- (?:before|after)\n[\s\S]*?-->\n/g, '')
    // Pictures follow the switch of the site, not the system.
    .replace(
      /<picture>\s*<source [^>]*dark[^>]* srcset="([^"]+)">\s*<img src="([^"]+)"([^>]*)>\s*<\/picture>/g,
      '<img class="only-light" src="$2"$3>\n<img class="only-dark" src="$1"$3>',
    )
    // VitePress would take a placeholder such as `<name>` at the beginning of a line for a component.
    .replace(/\n(<[a-z-]+>`)/g, ' $1')
    .replace(
      /(\]\(|(?:src|srcset)=")(?![a-z]+:|[#/])([^)\s"]+)/g,
      (_, open, link) => open + target(source, link),
    )
  if (title === undefined) return page
  return `---\neditLink: false\n---\n\n${page.replace(/^# .*$/m, `# ${title}`)}`
}

function target(source, link) {
  const [path, anchor] = posix.join(posix.dirname(source), link).split('#')
  if (path.startsWith('docs/images/')) return `/${path.slice('docs/'.length)}`
  if (!existsSync(join(ROOT, path))) fail(`${source}: ${link} does not exist`)
  if (/\.(?:png|svg)$/.test(path)) {
    cpSync(join(ROOT, path), join(PAGES, 'images', path))
    return `/images/${path}`
  }
  const [page] = [...documents()].find(([, one]) => one === path) ?? []
  const isHome = page === 'index' || path === 'README.md'
  const place = isHome ? '/' : page === undefined ? `${REPOSITORY}/${path}` : `/${page}`
  return anchor === undefined ? place : `${place}#${anchor}`
}

async function makeReference() {
  const options = ['--options', 'docs/.vitepress/typedoc.json', '--out', join(PAGES, 'api')]
  await run('npx', ['typedoc', ...options, ...entries.map((name) => `src/${name}.ts`)], /warning/)
  writeFileSync(join(PAGES, 'api/index.md'), overview())
  for (const name of entries) {
    const path = join(PAGES, 'api', `${name}/index.md`)
    const markdown = readFileSync(path, 'utf8')
    writeFileSync(path, markdown.replace(/^# .*$/m, `# ${importNameOf(name)}\n\n${ENTRIES[name]}`))
  }
}

function importNameOf(entry) {
  return entry === 'index' ? 'trackpost' : `trackpost/${entry}`
}

function overview() {
  const lines = entries.map((name) => {
    if (ENTRIES[name] === undefined) fail(`docs/.vitepress/guides.mjs has no description of ${name}`)
    return `| [\`${importNameOf(name)}\`](${name}/index.md) | ${ENTRIES[name]} |`
  })
  return `# API

Every exported name, by the entry point that it is imported from. The [client](index/classes/Analytics.md) and its
[settings](index/interfaces/AnalyticsSettings.md) are what most programs need; the guides explain how to use them.

| import from | to get |
|---|---|
${lines.join('\n')}
`
}

function titleOf(name) {
  return /^# (.*)$/m.exec(readFileSync(join(PAGES, `${name}.md`), 'utf8'))[1].replaceAll('`', '')
}

/** An index for language models (llmstxt.org): each guide with its title, and a link to its Markdown. */
function llms() {
  const raw = REPOSITORY.replace('github.com', 'raw.githubusercontent.com').replace('/blob', '')
  const sources = documents()
  const groups = [...GUIDES, ...CLUSTER].map(({ text, pages }) => {
    const lines = pages.map((name) => `- [${titleOf(name)}](${raw}/${sources.get(name)})`)
    return `## ${text}\n\n${lines.join('\n')}\n`
  })
  return `# trackpost\n\n> ${description}\n\n${groups.join('\n')}`
}

function sidebar() {
  const all = [...documents().keys()].filter((name) => name !== 'index')
  const toGroups = (groups) =>
    groups.map(({ text, pages }) => ({
      text,
      // What stands behind a colon is for the search.
      items: pages.map((name) => ({ text: titleOf(name).replace(/: .*/, ''), link: `/${name}` })),
    }))
  const guides = toGroups(GUIDES)
  const cluster = toGroups(CLUSTER)
  const contributors = toGroups(CONTRIBUTORS)
  const pagesOf = (groups) => groups.flatMap(({ items }) => items.map(({ link }) => link))
  const named = [guides, cluster, contributors].flatMap(pagesOf)
  const missing = all.filter((name) => !named.includes(`/${name}`))
  if (missing.length > 0) fail(`missing in docs/.vitepress/guides.mjs: ${missing.join(', ')}`)
  const reference = {
    text: 'API',
    items: [
      { text: 'Overview', link: '/api/' },
      ...entries.map((name) => ({ text: importNameOf(name), link: `/api/${name}/` })),
    ],
  }
  const apart = [cluster, contributors].flatMap((groups) => pagesOf(groups).map((link) => [link, groups]))
  return {
    '/api/': [reference, ...guides],
    ...Object.fromEntries(apart),
    '/': [...guides, reference],
  }
}
