import { count, dateAndTime, tickOf } from '../lib/format.ts'
import type { Overview } from '../lib/types.ts'

export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const highest = Math.max(1, ...values)
  const width = 100 / Math.max(1, values.length)
  return (
    <svg class="sparkline" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label={label}>
      {values.map((value, index) => {
        const height = value === 0 ? 0.6 : Math.max(1.5, (20 * value) / highest)
        return (
          <rect
            key={index}
            class={value === 0 ? 'none' : ''}
            x={index * width + width * 0.1}
            width={width * 0.8}
            y={20 - height}
            height={height}
          />
        )
      })}
    </svg>
  )
}

type Bucket = Overview['series'][number]

/** Returns the top of the axis: a round number that is not below the highest value. */
function scaleEnd(highest: number): number {
  if (highest <= 4) return 4
  const power = 10 ** Math.floor(Math.log10(highest))
  const step = [1, 2, 4, 5, 10].find((factor) => factor * power >= highest) ?? 10
  return step * power
}

export function VolumeChart({
  buckets,
  bucketMs,
  hrefOf,
}: {
  buckets: readonly Bucket[]
  bucketMs: number
  hrefOf(from: string, to: string): string
}) {
  const end = scaleEnd(
    Math.max(0, ...buckets.map(({ accepted, rejected, repeated }) => accepted + rejected + repeated)),
  )
  const width = 100 / Math.max(1, buckets.length)
  const lengthMs = buckets.length * bucketMs
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * (buckets.length - 1)))
  return (
    <div class="volume">
      <div class="volume-scale" aria-hidden="true">
        <span>{count(end)}</span>
        <span>{count(end / 2)}</span>
        <span>0</span>
      </div>
      <div class="volume-plot">
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="group" aria-label="Events over time">
          <line class="grid" x1="0" x2="100" y1="0" y2="0" />
          <line class="grid" x1="0" x2="100" y1="50" y2="50" />
          {buckets.map((bucket, index) => (
            <Bar
              key={bucket.at}
              bucket={bucket}
              x={index * width}
              width={width}
              end={end}
              href={hrefOf(bucket.at, new Date(Date.parse(bucket.at) + bucketMs).toISOString())}
            />
          ))}
        </svg>
        <div class="volume-times" aria-hidden="true">
          {ticks.map((index, place) => (
            <span key={place}>
              {buckets[index] === undefined ? '' : tickOf(buckets[index].at, bucketMs, lengthMs)}
            </span>
          ))}
        </div>
      </div>
    </div>
  )
}

interface BarProps {
  bucket: Bucket
  x: number
  width: number
  end: number
  href: string
}

function Bar({ bucket, x, width, end, href }: BarProps) {
  const { at, accepted, rejected, repeated } = bucket
  const percent = (count: number) => (100 * count) / end
  const parts = [
    ['accepted', percent(accepted), 0],
    ['rejected', percent(rejected), percent(accepted)],
    ['repeat', percent(repeated), percent(accepted + rejected)],
  ] as const
  const repeats = repeated > 0 ? `, ${count(repeated)} repeated` : ''
  const title = `${dateAndTime(at)}: ${count(accepted)} accepted, ${count(rejected)} not accepted${repeats}`
  const bars = (
    <>
      <rect class="hover" x={x} width={width} y="0" height="100" />
      {parts.map(([name, height, below]) => (
        <rect
          key={name}
          class={name}
          x={x + width * 0.12}
          width={width * 0.76}
          y={100 - below - height}
          height={height}
        />
      ))}
      <title>{title}</title>
    </>
  )
  // Empty bars are not links, so Tab skips them.
  return accepted + rejected + repeated === 0 ? (
    <g class="bar">{bars}</g>
  ) : (
    <a class="bar" href={href} aria-label={title}>
      {bars}
    </a>
  )
}
