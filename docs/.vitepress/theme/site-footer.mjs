import { useData, withBase } from 'vitepress'
import { h } from 'vue'

const REPOSITORY = 'https://github.com/trackpost/trackpost'

const LINKS = [
  ['Versions and support', '/versions'],
  ['Changelog', '/changelog'],
  ['Privacy', '/privacy'],
  ['Security', '/security'],
  ['What is not offered', '/not-offered'],
]

/** On the home page at the bottom of the page, on the others below the text, because the sidebar covers the bottom. */
export default {
  props: { isHome: Boolean },
  setup({ isHome }) {
    const { frontmatter } = useData()
    return () => {
      if (isHome !== (frontmatter.value.layout === 'home')) return undefined
      const links = LINKS.map(([text, path]) => h('a', { href: withBase(path) }, text))
      const github = h('a', { href: REPOSITORY }, 'GitHub')
      const licence = h(
        'a',
        { href: `${REPOSITORY}/blob/main/LICENSE` },
        'MIT licence, the Trackpost authors',
      )
      const nav = h('nav', { 'aria-label': 'About the project' }, [...links, github, licence])
      return h(isHome ? 'footer' : 'div', { class: 'site-footer' }, nav)
    }
  },
}
