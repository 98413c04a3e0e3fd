import DefaultTheme from 'vitepress/theme'
import { h } from 'vue'
import SiteFooter from './site-footer.mjs'
import './style.css'

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'doc-after': () => h(SiteFooter),
      'layout-bottom': () => h(SiteFooter, { isHome: true }),
    }),
}
