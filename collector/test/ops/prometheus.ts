import { expect } from 'vitest'

export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

// The library writes `Nan`; Prometheus ignores case.
const SAMPLE =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (Na[Nn]|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"/g
const SUFFIX = /_(?:bucket|sum|count)$/

/** Parses the text format of Prometheus as strictly as `promtool check metrics`. */
export function parseMetrics(text: string): Sample[] {
  expect(text.endsWith('\n')).toBe(true)
  const types = new Map<string, string>()
  const helps = new Set<string>()
  const series = new Set<string>()
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, kind, about = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') {
      expect(helps.has(about), line).toBe(false)
      helps.add(about)
    } else if (kind === 'TYPE') {
      expect(types.has(about), line).toBe(false)
      expect(['counter', 'gauge', 'histogram', 'summary'], line).toContain(rest)
      types.set(about, rest)
    } else {
      const [, name = '', inside = '', value = ''] = SAMPLE.exec(line) ?? []
      expect(name, `not a line of the text format: ${line}`).not.toBe('')
      const family = types.has(name) ? name : name.replace(SUFFIX, '')
      expect([types.has(family), helps.has(family)], line).toEqual([true, true])
      const labels = Object.fromEntries([...inside.matchAll(LABEL)].map(([, key, text]) => [key, text]))
      const id = `${name} ${JSON.stringify(Object.entries(labels).sort())}`
      expect(series.has(id), `twice: ${line}`).toBe(false)
      series.add(id)
      samples.push({ name, labels, value: Number(value.replace('Inf', 'Infinity').replace('Nan', 'NaN')) })
    }
  }
  for (const [name, type] of types) checkFamily(name, type, samples)
  return samples
}

function checkFamily(name: string, type: string, samples: readonly Sample[]): void {
  if (type === 'counter') {
    expect(name).toMatch(/_total$/)
    for (const one of samples) if (one.name === name) expect(one.value).toBeGreaterThanOrEqual(0)
  }
  if (type !== 'histogram') return
  const groups = new Map<string, Sample[]>()
  for (const one of samples.filter((sample) => sample.name === `${name}_bucket`)) {
    const { le, ...others } = one.labels
    expect(le).toBeDefined()
    const key = JSON.stringify(others)
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  for (const [key, buckets] of groups) {
    const bounds = buckets.map(({ labels }) => Number(labels['le']?.replace('+Inf', 'Infinity')))
    const counts = buckets.map(({ value }) => value)
    expect(bounds).toEqual([...bounds].sort((a, b) => a - b))
    expect(counts).toEqual([...counts].sort((a, b) => a - b))
    expect(bounds.at(-1)).toBe(Number.POSITIVE_INFINITY)
    const count = samples.find((one) => one.name === `${name}_count` && JSON.stringify(one.labels) === key)
    expect(count?.value).toBe(counts.at(-1))
  }
}

/** The value of the only series that has these labels; `undefined` if there is none. */
export function seriesOf(samples: readonly Sample[], name: string, labels: Record<string, string> = {}) {
  const found = samples.filter(
    (one) =>
      one.name === `trackpost_collector_${name}` &&
      Object.entries(labels).every(([key, text]) => one.labels[key] === text),
  )
  expect(found.length, `${name} ${JSON.stringify(labels)}`).toBeLessThanOrEqual(1)
  return found[0]?.value
}
