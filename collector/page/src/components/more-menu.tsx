import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { about } from '../lib/basics.ts'
import { count } from '../lib/format.ts'
import { ask, sendJson } from '../lib/http.ts'
import { latest, totalOf } from '../lib/live.ts'
import { attempt, Button, Icon } from './basics.tsx'
import { Confirm, Dialog } from './dialog.tsx'
import { Menu } from './menu.tsx'

/** Whether the help about keys and searches is open. */
export const isHelping = signal(false)

export function MoreMenu() {
  const isForgetting = useSignal(false)
  const known = about.value
  const forget = () =>
    attempt(async () => {
      await sendJson('DELETE', 'api/events')
      return 'All events are deleted'
    })
  const logOut = () =>
    attempt(async () => {
      await ask('logout', { method: 'POST' })
      location.reload()
      return undefined
    })
  const stats = latest.value?.stats
  return (
    <>
      <Menu class="quiet" label={<Icon name="more" />} title="More">
        <Button onClick={() => (isHelping.value = true)}>Keyboard and search</Button>
        <hr />
        <Button id="clear" class="danger-text" onClick={() => (isForgetting.value = true)}>
          Delete all events…
        </Button>
        {known?.needsToken === true && <Button onClick={logOut}>Log out</Button>}
        {known !== undefined && (
          <p class="menu-text">
            Version {known.version}, database {known.database}
          </p>
        )}
      </Menu>
      {isForgetting.value && (
        <Confirm
          title="Delete all events?"
          action="Delete everything"
          onConfirm={forget}
          onClose={() => (isForgetting.value = false)}
        >
          <p>
            All {stats === undefined ? '' : `${count(totalOf(stats))} `}events and their requests are deleted,
            for everyone who uses this collector.
          </p>
          <p>
            Pending deliveries are not sent. The messageIds for deduplication are deleted too: an event that
            was received before is accepted again.
          </p>
        </Confirm>
      )}
      {isHelping.value && <Help onClose={() => (isHelping.value = false)} />}
    </>
  )
}

const KEYS: ReadonlyArray<readonly [keys: string, what: string]> = [
  ['/', 'search'],
  ['↑ ↓', 'move in the list; the open panel shows the current row'],
  ['Enter', 'open'],
  ['Esc', 'close'],
  ['x', 'choose the current row, to compare, copy, export or delete it'],
  ['?', 'this help'],
  ['p', 'pause and resume'],
]
const TERMS: ReadonlyArray<readonly [term: string, what: string]> = [
  ['kettle', 'contains this text anywhere'],
  ['event:"Order Completed"', 'the field is exactly this text'],
  ['user:ada,bob', 'the field is one of these'],
  ['name:Order*', 'the field begins with this'],
  ['properties.total>100', 'the value at any path of the message; also >= < <= !='],
  ['-source:web', 'does not match this term'],
  ['reason:no_event OR delivery:failed', 'matches either term'],
  ['warning:timestamp_zone', 'accepted with this warning; warning:* finds all warnings'],
  ['received>=2026-05-17T09:30Z', 'received at this time or later'],
  ['timestamp<-2d', 'happened more than two days ago, whenever it was received'],
]

function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog label="Keyboard and search" onClose={onClose}>
      <h2>Keyboard</h2>
      <dl class="help">
        {KEYS.map(([keys, what]) => (
          <HelpRow key={keys} term={<kbd>{keys}</kbd>} what={what} />
        ))}
      </dl>
      <h2>Search</h2>
      <dl class="help">
        {TERMS.map(([term, what]) => (
          <HelpRow key={term} term={<code>{term}</code>} what={what} />
        ))}
      </dl>
      <p class="dialog-actions">
        <Button onClick={onClose}>Close</Button>
      </p>
    </Dialog>
  )
}

function HelpRow({ term, what }: { term: ComponentChildren; what: string }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{what}</dd>
    </div>
  )
}
