import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { search } from './search.mjs'

const REPOSITORY = 'https://github.com/trackpost/trackpost'

const read = (name) => JSON.parse(readFileSync(fileURLToPath(new URL(name, import.meta.url)), 'utf8'))

/** The anchors that the pages of repositories have: the same links work in both places. */
export function slugify(title) {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

export default defineConfig({
  title: 'trackpost',
  description: 'Event tracking for Node.js that accounts for every event.',
  lang: 'en',
  base: process.env.DOCS_BASE ?? '/',
  srcDir: '.vitepress/pages',
  outDir: '.vitepress/dist',
  cleanUrls: true,
  markdown: {
    anchor: { slugify },
    // Names in angle brackets and braces are text in our documents.
    attrs: { disable: true },
  },
  head: [['link', { rel: 'icon', href: `${process.env.DOCS_BASE ?? '/'}logo.svg` }]],
  // The index for the search is one file, and loaded with the first search.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    search,
    outline: [2, 3],
    externalLinkIcon: true,
    nav: [
      {
        text: 'Guide',
        link: '/five-minutes',
        activeMatch: '^/(?!$|api/|spec|faults|contributing/)',
      },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Contributors', link: '/spec', activeMatch: '^/(?:spec|faults|contributing/)' },
    ],
    // Written by scripts/build-docs.mjs, with the titles of the documents.
    sidebar: read('./pages/sidebar.json'),
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: { pattern: `${REPOSITORY}/edit/main/docs/:path`, text: 'Edit this page' },
  },
})
