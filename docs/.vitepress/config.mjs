import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { search } from './search.mjs'

const REPOSITORY = 'https://github.com/trackpost/trackpost'

const read = (name) => JSON.parse(readFileSync(fileURLToPath(new URL(name, import.meta.url)), 'utf8'))

/** The same anchors as on GitHub, so that links work in both places. */
function slugify(title) {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

export default defineConfig({
  title: 'trackpost',
  description: 'Event tracking for Node.js that accounts for every event.',
  lang: 'en',
  srcDir: '.vitepress/pages',
  outDir: '.vitepress/dist',
  cleanUrls: true,
  markdown: {
    anchor: { slugify },
    // Their contrast is at least 4.5:1, also in comments.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // The empty corner of a table is no header.
    config(markdown) {
      const isEmpty = (tokens, index) => tokens[index].content === ''
      markdown.renderer.rules.th_open = (tokens, index, options, _env, self) => {
        if (isEmpty(tokens, index + 1)) tokens[index].tag = tokens[index + 2].tag = 'td'
        return self.renderToken(tokens, index, options)
      }
    },
    // Braces are text in our documents.
    attrs: { disable: true },
  },
  head: [['link', { rel: 'icon', href: '/logo.svg' }]],
  // The search index is one large file, loaded with the first search.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    search,
    outline: [2, 3],
    externalLinkIcon: true,
    nav: [
      {
        text: 'Guide',
        link: '/five-minutes',
        activeMatch: '^/(?!$|api/|cluster|spec|contributing/)',
      },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Cluster', link: '/cluster', activeMatch: '^/cluster' },
      { text: 'Contributors', link: '/spec', activeMatch: '^/(?:spec|contributing/)' },
    ],
    // Written by scripts/build-docs.mjs.
    sidebar: read('./pages/sidebar.json'),
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: { pattern: `${REPOSITORY}/edit/main/docs/:path`, text: 'Edit this page' },
  },
})
