const BUCKETS_SECONDS = [0.005, 0.02, 0.1, 0.5, 1, 2, 5]

/** One metric in the text format of Prometheus, with one value, or one for each set of labels. */
export function metric(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  value: number | boolean,
  labels = '',
): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name}${labels} ${Number(value)}\n`
}

/** `{destination="CRM"}` */
export function labelled(name: string, value: string): string {
  return `{${name}=${JSON.stringify(value)}}`
}

export interface Histogram {
  saw(seconds: number): void
  text(): string
}

export function histogram(name: string, help: string): Histogram {
  const counts = BUCKETS_SECONDS.map(() => 0)
  let count = 0
  let sum = 0
  return {
    saw(seconds) {
      count++
      sum += seconds
      for (const [index, limit] of BUCKETS_SECONDS.entries())
        if (seconds <= limit) counts[index] = (counts[index] ?? 0) + 1
    },
    text() {
      const buckets = BUCKETS_SECONDS.map(
        (limit, index) => `${name}_bucket{le="${limit}"} ${counts[index]}\n`,
      )
      return [
        `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`,
        ...buckets,
        `${name}_bucket{le="+Inf"} ${count}\n${name}_sum ${sum}\n${name}_count ${count}\n`,
      ].join('')
    },
  }
}
