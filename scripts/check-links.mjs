import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative, sep } from 'node:path'

/** Returns one line for each link of a built site to a missing page or anchor. The site is served under `base`. */
export function brokenLinks(site, base = '/') {
  const pages = new Map(
    htmlFiles(site).map((path) => {
      const html = readFileSync(path, 'utf8')
      const ids = new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => decode(id)))
      const links = [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, link]) => decode(link))
      return [`/${relative(site, path).split(sep).join('/')}`, { ids, links }]
    }),
  )
  return [...pages].flatMap(([page, { links }]) =>
    [...new Set(links)].flatMap((link) => {
      if (/^(?:[a-z]+:|\/\/)/i.test(link)) return []
      const [path, anchor = ''] = link.split('#')
      const target =
        path === '' ? page : fileOf(site, posix.resolve(posix.dirname(page), withoutBase(path, base)))
      if (target === undefined) return [`${page}: ${link} does not exist`]
      // A link without an anchor leads to the top of the page, which always exists.
      if (anchor === '' || !pages.has(target) || pages.get(target).ids.has(decodeURIComponent(anchor)))
        return []
      return [`${page}: ${link} has no such anchor`]
    }),
  )
}

function htmlFiles(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.html'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
}

function withoutBase(path, base) {
  return path.startsWith(base) ? `/${path.slice(base.length)}` : path
}

/** The file that a server would send, as a path from the root of the site; `undefined` if there is none. */
function fileOf(site, path) {
  const candidates = path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`, `${path}/index.html`]
  return candidates.find((one) => /\.\w+$/.test(one) && existsSync(join(site, one)))
}

function decode(text) {
  return text
    .replaceAll('&amp;', '&')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
}
