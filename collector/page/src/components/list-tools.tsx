import type { Question } from '../lib/feed.ts'
import { Menu } from './menu.tsx'

/** The address of a file with the items of a list. */
export function exportAddress(path: string, question: Question): string {
  return `${path}?${new URLSearchParams({ order: 'newest', ...question })}`
}

export function ExportMenu({ question }: { question: Question }) {
  return (
    <Menu label="Export">
      <a href={exportAddress('api/export', { ...question, format: 'ndjson' })} download="events.ndjson">
        This list as NDJSON
      </a>
      <a href={exportAddress('api/export', { ...question, format: 'csv' })} download="events.csv">
        This list as CSV
      </a>
    </Menu>
  )
}
