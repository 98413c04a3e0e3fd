import { signal } from '@preact/signals'
import type { ComponentChildren, ComponentProps } from 'preact'
import { ago, capitalised, clock, dateAndTime, plural } from '../lib/format.ts'
import type { RequestError } from '../lib/http.ts'
import { clockMs } from '../lib/live.ts'
import type { Severity } from '../lib/types.ts'
import type { Query } from '../lib/use-query.ts'
import { visibleParts, visibleText } from '../lib/visible-text.ts'

/**
 * Shows untrusted text. Invisible characters, and characters that reorder the text around them, are replaced by their names.
 */
export function Text({ value }: { value: string }) {
  return (
    <bdi>
      {visibleParts(value).map(({ text, isMark }, index) =>
        isMark ? (
          <span key={index} class="hidden-character" title="an invisible character">
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </bdi>
  )
}

/** A name that consists only of spaces would be invisible, so it is described instead. */
export function Name({ value }: { value: string }) {
  if (value.trim() !== '') return <Text value={value} />
  return (
    <span class="hidden-character" title="only spaces">
      {value === '' ? 'empty' : 'blank'}
    </span>
  )
}

const SHAPES = {
  overview: 'M2 13h3V8H2zM6.5 13h3V3h-3zM11 13h3V6h-3z',
  events: 'M2 4h12M2 8h12M2 12h8',
  requests: 'M3 5h9M9 2l3 3-3 3M13 11H4M7 8l-3 3 3 3',
  users: 'M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM3 13.5c.6-2.4 2.5-3.5 5-3.5s4.4 1.1 5 3.5',
  catalogue: 'M3 2.5h10v11H3zM6 2.5v11M8.5 6h2.5M8.5 9h2.5',
  changes: 'M4 2.5v11M2 4.5l2-2 2 2M12 13.5v-11M10 11.5l2 2 2-2',
  problems: 'M8 2.5l6 11H2zM8 6.5v3M8 11.5v.2',
  destinations: 'M2 8h5M7 8l4-4.5h3M7 8l4 4.5h3M7 8h7',
  faults: 'M9 1.5L3.5 9H8l-1 5.5L12.5 7H8z',
  search: 'M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM10.6 10.6L14 14',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  up: 'M4 10l4-4 4 4',
  pause: 'M5 3v10M11 3v10',
  play: 'M5 3l8 5-8 5z',
  more: 'M3 8h.1M8 8h.1M13 8h.1',
  plus: 'M8 3.5v9M3.5 8h9',
} as const
export type IconName = keyof typeof SHAPES

/** Screen readers ignore the icon, so it needs a word beside it or a label on its button. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={SHAPES[name]} />
    </svg>
  )
}

export type Tone = 'good' | 'bad' | 'warn' | 'info'

export const TONE_OF_SEVERITY: Readonly<Record<Severity, Tone>> = {
  error: 'bad',
  warning: 'warn',
  info: 'info',
}

/** Status 0 means that no response was sent. */
function toneOfStatus(status: number): Tone {
  if (status === 0 || status >= 500) return 'bad'
  if (status === 429) return 'warn'
  return status >= 400 ? 'bad' : 'good'
}

/** Does not submit the form around it, unless it is of that type. */
export function Button(props: ComponentProps<'button'>) {
  return <button type="button" {...props} />
}

/** A state in one word. The colour is not needed to understand the word. */
export function Pill({ tone, title, children }: { tone: Tone; title?: string; children: ComponentChildren }) {
  return (
    <span class={`pill ${tone}`} {...(title === undefined ? {} : { title })}>
      {children}
    </span>
  )
}

/** The status of a response. What works is quiet, so a success is no badge. */
export function HTTPStatus({ status }: { status: number }) {
  const tone = toneOfStatus(status)
  if (tone === 'good') return <span class="state-word">{status}</span>
  return <Pill tone={tone}>{status === 0 ? 'none' : status}</Pill>
}

/** One number of a row of figures. */
export function Figure({
  title,
  value,
  link,
  isBad = false,
  note,
}: {
  title: string
  value: string
  link?: string
  isBad?: boolean
  note?: string
}) {
  return (
    <div>
      <dt>{title}</dt>
      <dd class={isBad ? 'bad-text' : ''}>{link === undefined ? value : <a href={link}>{value}</a>}</dd>
      {note !== undefined && <dd class="figure-note">{note}</dd>}
    </div>
  )
}

/** A row of a list of facts. */
export function Fact({ name, children }: { name: ComponentChildren; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={dateAndTime(at)}>
      {ago(at, clockMs.value)}
    </time>
  )
}

/** The time of day. Milliseconds are left out where there is no room. */
export function Clock({ at }: { at: string }) {
  const text = clock(at)
  return (
    <>
      {text.slice(0, 8)}
      <span class="ms">{text.slice(8)}</span>
    </>
  )
}

export function Brand() {
  return (
    <h1 class="brand">
      <img src="./icon.svg" alt="" width="24" height="24" />
      <span class="brand-name">Trackpost</span> <span class="sr-only">collector</span>
    </h1>
  )
}

/** Shown for 4 s, and read aloud by screen readers. */
const notice = signal('')
let noticeTimer: ReturnType<typeof setTimeout> | undefined

export function say(text: string): void {
  notice.value = text
  clearTimeout(noticeTimer)
  noticeTimer = setTimeout(() => {
    notice.value = ''
  }, 4000)
}

/** Does what a button asks for, and says what came of it. */
export async function attempt(action: () => Promise<string | undefined>): Promise<void> {
  try {
    const text = await action()
    if (text !== undefined) say(text)
  } catch (cause) {
    say((cause as Error).message)
  }
}

export function Notice() {
  return (
    <div class="notice" role="status">
      {notice.value !== '' && <p>{notice.value}</p>}
    </div>
  )
}

/** Whether the same request may succeed later. What is wrong or gone stays so. */
function canHelp({ status }: RequestError): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500
}

/** Shown beside the control that sent the request. */
export function Problem({ error, onRetry }: { error: RequestError; onRetry?: () => void }) {
  return (
    <p class="problem" role="alert">
      <span>{capitalised(visibleText(error.message))}</span>
      {onRetry !== undefined && canHelp(error) && (
        <Button class="quiet" onClick={onRetry}>
          Try again
        </Button>
      )}
    </p>
  )
}

/** CSS shows "Loading…" only after a moment. */
export function QueryState({
  query: { data, error, reload },
  isEmpty = data === undefined,
}: {
  query: Query<unknown>
  isEmpty?: boolean
}) {
  if (error !== undefined) return <Problem error={error} onRetry={reload} />
  return isEmpty ? <p class="loading soft">Loading…</p> : null
}

export function Nothing({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="nothing">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

interface ExplanationProps {
  severity: Severity
  word: string
  meaning: string
  children?: ComponentChildren
}

/** What is wrong or odd about an item: in a word, in a sentence, and what can be done. */
export function Explanation({ severity, word, meaning, children }: ExplanationProps) {
  return (
    <div class={`explanation ${severity}`}>
      <p>
        <Pill tone={TONE_OF_SEVERITY[severity]}>{word}</Pill>{' '}
        <strong>
          <Text value={meaning} />
        </strong>
      </p>
      {children}
    </div>
  )
}

interface BlockProps {
  title: ComponentChildren
  /** Beside the title. */
  beside?: ComponentChildren
  children: ComponentChildren
}

/** A part of a screen or of a panel, under a heading. */
export function Block({ title, beside, children }: BlockProps) {
  return (
    <section class="block">
      <div class="block-head">
        <h3>{title}</h3>
        {beside}
      </div>
      {children}
    </section>
  )
}

interface GradedProps<T> {
  grades: ReadonlyArray<readonly [grade: string, title: string, meaning: string]>
  items: readonly T[]
  gradeOf(item: T): string
  noun: string
  children(item: T): ComponentChildren
}

/** Items under headings that say how bad they are. */
export function Graded<T>({ grades, items, gradeOf, noun, children }: GradedProps<T>) {
  return grades.map(([grade, title, meaning]) => {
    const own = items.filter((item) => gradeOf(item) === grade)
    if (own.length === 0) return null
    return (
      <Block
        key={grade}
        title={title}
        beside={<p class="soft">{`${plural(own.length, noun)}: ${meaning}`}</p>}
      >
        <ul class={`${noun}s sheet`}>{own.map((item) => children(item))}</ul>
      </Block>
    )
  })
}

interface ChoiceProps {
  label: string
  options: ReadonlyArray<readonly [text: string, link: string, isCurrent: boolean]>
}

/** A choice that is in the address. */
export function Choice({ label, options }: ChoiceProps) {
  return (
    <nav class="choice" aria-label={label}>
      {options.map(([text, link, isCurrent]) => (
        <a key={text} href={link} {...(isCurrent ? { 'aria-current': 'true' as const } : {})}>
          {text}
        </a>
      ))}
    </nav>
  )
}
