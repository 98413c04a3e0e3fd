import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { type Change, type Changes, entriesOf, isObject, type Path, pathKey, pathText } from '../lib/diff.ts'
import { count, shortJson } from '../lib/format.ts'
import { visibleText } from '../lib/visible-text.ts'
import { Button, Icon, Text } from './basics.tsx'

export interface ValueActions {
  linkOf?(path: Path, value: unknown): string | undefined
  onPick?(path: Path, value: unknown, at: HTMLElement): void
}

interface TreeProps extends ValueActions {
  value: unknown
  changes?: Changes | undefined
  /** Paths of the fields that caused a problem, such as `properties.total`. */
  marked?: ReadonlySet<string>
  search?: string
}

const OPEN_NODES = 150
const CHILDREN_AT_ONCE = 100
const LONG_TEXT = 400

interface TreeState extends TreeProps {
  opensDeep: boolean
  /** The paths of what contains the searched text, and of all that it is in. */
  hits: ReadonlySet<string> | undefined
}

function size(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 1
  let nodes = 1
  for (const child of Object.values(value)) {
    nodes += size(child, limit - nodes)
    if (nodes >= limit) return nodes
  }
  return nodes
}

function findHits(value: unknown, text: string): ReadonlySet<string> {
  const hits = new Set<string>()
  const visit = (node: unknown, path: Path): boolean => {
    let isHit = String(path.at(-1) ?? '')
      .toLowerCase()
      .includes(text)
    if (typeof node === 'object' && node !== null) {
      for (const [name, child] of entriesOf(node)) if (visit(child, [...path, name])) isHit = true
    } else if (String(node).toLowerCase().includes(text)) isHit = true
    if (isHit) hits.add(pathKey(path))
    return isHit
  }
  visit(value, [])
  return hits
}

export function JsonTree(props: TreeProps) {
  const opensDeep = useMemo(() => size(props.value, OPEN_NODES) < OPEN_NODES, [props.value])
  const text = props.search?.trim().toLowerCase() ?? ''
  const hits = useMemo(() => (text === '' ? undefined : findHits(props.value, text)), [props.value, text])
  // With the key, each search opens its hits again, also in what was folded by hand.
  return (
    <div class="json" role="group" aria-label="JSON">
      {hits?.size === 0 && <p class="soft">No key or value contains "{props.search}".</p>}
      <Children key={text} value={props.value} path={[]} state={{ ...props, opensDeep, hits }} />
    </div>
  )
}

function Children({ value, path, state }: { value: unknown; path: Path; state: TreeState }) {
  const isList = Array.isArray(value)
  const entries = entriesOf(value as object)
  const lastHit = entries.findLastIndex(([key]) => state.hits?.has(pathKey([...path, key])))
  const shown = useSignal(Math.max(CHILDREN_AT_ONCE, lastHit + 1))
  const removed = removedBelow(path, state.changes)
  if (entries.length + removed.length === 0) return <p class="soft empty-value">{isList ? '[ ]' : '{ }'}</p>
  return (
    <ul>
      {entries.slice(0, shown.value).map(([key, child]) => (
        <Node key={key} name={key} value={child} path={[...path, key]} state={state} />
      ))}
      {removed.map(([key, change]) => (
        <Node
          key={`removed ${key}`}
          name={key}
          value={change.was}
          path={[...path, key]}
          state={{ ...state, changes: new Map([[pathKey([...path, key]), change]]) }}
        />
      ))}
      {entries.length > shown.value && (
        <li>
          <Button class="quiet" onClick={() => (shown.value += 10 * CHILDREN_AT_ONCE)}>
            Show more ({count(entries.length - shown.value)} left)
          </Button>
        </li>
      )}
    </ul>
  )
}

function removedBelow(path: Path, changes: Changes | undefined) {
  const found: Array<[string | number, Change & { kind: 'removed' }]> = []
  for (const [key, change] of changes ?? []) {
    if (change.kind !== 'removed') continue
    const parts = JSON.parse(key) as Array<string | number>
    if (parts.length === path.length + 1 && path.every((part, index) => part === parts[index])) {
      found.push([parts.at(-1) as string | number, change])
    }
  }
  return found
}

interface NodeProps {
  name: string | number
  value: unknown
  path: Path
  state: TreeState
}

function Node({ name, value, path, state }: NodeProps) {
  const key = pathKey(path)
  const change = state.changes?.get(key)
  const isBranch = (isObject(value) || Array.isArray(value)) && Object.keys(value as object).length > 0
  const opened = useSignal<boolean | undefined>(undefined)
  const isHit = state.hits?.has(key)
  const isOpen = opened.value ?? isHit ?? (state.opensDeep || path.length < 2)
  const isMarked = state.marked?.has(pathText(path)) ?? false
  const classes = [change?.kind, isHit === false && 'no-hit', isMarked && 'marked'].filter(Boolean)
  return (
    <li class={classes.join(' ')}>
      <div class="line">
        {isBranch ? (
          <Button
            class="fold"
            aria-expanded={isOpen}
            aria-label={`${isOpen ? 'Fold' : 'Unfold'} ${visibleText(String(name))}`}
            onClick={() => (opened.value = !isOpen)}
          >
            <Icon name={isOpen ? 'down' : 'right'} />
          </Button>
        ) : (
          <span class="fold" />
        )}
        <Key name={name} value={value} path={path} state={state} />
        {isBranch ? !isOpen && <Folded value={value} /> : <Leaf value={value} path={path} state={state} />}
        {change !== undefined && <span class="change">{change.kind}</span>}
        {change?.kind === 'changed' && (
          <span class="was">
            was <Text value={shortJson(change.was, 100)} />
          </span>
        )}
      </div>
      {isBranch && isOpen && <Children value={value} path={path} state={state} />}
    </li>
  )
}

function Key({ name, value, path, state }: NodeProps) {
  const text = (
    <>
      <Text value={String(name)} />:
    </>
  )
  const { onPick } = state
  if (onPick === undefined) return <span class="key">{text}</span>
  return (
    <Button
      class="key"
      title="Filter by this value or copy it"
      onClick={(event) => onPick(path, value, event.currentTarget)}
    >
      {text}
    </Button>
  )
}

function Folded({ value }: { value: unknown }) {
  const length = Object.keys(value as object).length
  return <span class="soft">{Array.isArray(value) ? `[ ${count(length)} ]` : `{ ${count(length)} }`}</span>
}

function Leaf({ value, path, state }: { value: unknown; path: Path; state: TreeState }) {
  const isWhole = useSignal(state.hits?.has(pathKey(path)) ?? false)
  if (typeof value !== 'string') {
    const text =
      value !== null && typeof value === 'object' ? (Array.isArray(value) ? '[ ]' : '{ }') : String(value)
    return <span class={typeof value === 'number' ? 'number' : 'literal'}>{text}</span>
  }
  const isLong = value.length > LONG_TEXT && !isWhole.value
  // A link that consists of white space could not be seen or clicked.
  const link = value.trim() === '' ? undefined : state.linkOf?.(path, value)
  const text = <Text value={(isLong ? value.slice(0, LONG_TEXT) : value).replace(/["\\]/g, '\\$&')} />
  return (
    <span class={/[^\s-]{24}/.test(value) ? 'string unbroken' : 'string'}>
      "{link === undefined ? text : <a href={link}>{text}</a>}
      {isLong ? (
        <Button class="quiet" onClick={() => (isWhole.value = true)}>
          … {count(value.length - LONG_TEXT)} more characters
        </Button>
      ) : (
        '"'
      )}
    </span>
  )
}
