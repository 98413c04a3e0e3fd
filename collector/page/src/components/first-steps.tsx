import { collectorBase } from '../lib/as-code.ts'
import { about } from '../lib/basics.ts'
import { CopyButton } from './copy.tsx'

/** If the collector has configured write keys, the page does not know them, and shows a placeholder. */
export function FirstSteps() {
  const known = about.value
  const base = collectorBase()
  const source = known?.sources?.[0]
  const key = known === undefined || known.anyKey || source === undefined ? 'my-key' : `THE-KEY-OF-${source}`
  const curl = `curl -u ${key}: -H 'Content-Type: application/json' \\\n  -d '{"userId":"user-1","event":"Hello"}' \\\n  ${base}/v1/track`
  const code = `import { Analytics } from 'trackpost'\n\nconst analytics = new Analytics({\n  writeKey: '${key}',\n  host: '${base}',\n})\nanalytics.track({ userId: 'user-1', event: 'Hello' })\nawait analytics.closeAndFlush()`
  return (
    <div class="nothing first-steps">
      <h2>Nothing has arrived yet</h2>
      {known?.anyKey === false && known.sources !== null ? (
        <p>
          Send a first event with the write key of one of the configured sources:{' '}
          <strong>{known.sources.slice(0, 10).join(', ')}</strong>. Events with any other key are recorded as{' '}
          <code>unknown_write_key</code>.
        </p>
      ) : (
        <p>Send a first event. Any write key will do; it becomes the name of the source.</p>
      )}
      <Snippet id="curl" label="From a shell" text={curl} />
      <Snippet id="snippet" label="From Node.js" text={code} />
    </div>
  )
}

function Snippet({ id, label, text }: { id: string; label: string; text: string }) {
  return (
    <>
      <p class="snippet-head">
        {label} <CopyButton text={text} what="Example" />
      </p>
      <pre id={id} class="code">
        {text}
      </pre>
    </>
  )
}
