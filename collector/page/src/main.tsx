import './styles/base.css'
import './styles/layout.css'
import './styles/list.css'
import './styles/panel.css'
import './styles/screens.css'
import './styles/forced-colors.css'
import { render } from 'preact'
import { App } from './app.tsx'

const root = document.getElementById('app')
if (root !== null) render(<App />, root)
