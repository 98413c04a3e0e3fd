import { useSignal } from '@preact/signals'
import type { Question } from '../lib/feed.ts'
import { savedFilters } from '../lib/settings.ts'
import { Button, say } from './basics.tsx'
import { Menu } from './menu.tsx'

export function exportAddress(path: string, question: Question, format: 'ndjson' | 'csv'): string {
  return `${path}?${new URLSearchParams({ ...question, format, order: 'newest' })}`
}

export function ExportMenu({ question }: { question: Question }) {
  return (
    <Menu label="Export">
      <a href={exportAddress('api/export', question, 'ndjson')} download="events.ndjson">
        This list as NDJSON
      </a>
      <a href={exportAddress('api/export', question, 'csv')} download="events.csv">
        This list as CSV
      </a>
    </Menu>
  )
}

export function SavedFilters({ line, setLine }: { line: string; setLine(line: string): void }) {
  const name = useSignal('')
  const filters = savedFilters.value
  return (
    <>
      {filters.length === 0 && <p class="menu-text">No filter is saved yet.</p>}
      {filters.map((filter) => (
        <div class="menu-row" key={filter.name}>
          <Button onClick={() => setLine(filter.query)} title={filter.query}>
            {filter.name}
          </Button>
          <Button
            class="quiet"
            data-stay
            aria-label={`Delete the saved filter ${filter.name}`}
            onClick={() => {
              savedFilters.value = savedFilters.peek().filter((other) => other.name !== filter.name)
            }}
          >
            Delete
          </Button>
        </div>
      ))}
      {line === '' ? (
        <p class="menu-text">Type a search to save it here.</p>
      ) : (
        <form
          class="menu-form"
          onSubmit={(event) => {
            event.preventDefault()
            const text = name.value.trim() || line
            savedFilters.value = [
              ...savedFilters.peek().filter((other) => other.name !== text),
              { name: text, query: line },
            ]
            name.value = ''
            say(`Saved as ${text}`)
          }}
        >
          <label>
            Save this filter as
            <input
              type="text"
              name="filter-name"
              maxLength={60}
              placeholder={line}
              value={name.value}
              onInput={(event) => {
                name.value = event.currentTarget.value
              }}
            />
          </label>
          <Button type="submit" data-stay>
            Save
          </Button>
        </form>
      )}
    </>
  )
}
