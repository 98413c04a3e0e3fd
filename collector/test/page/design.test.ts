import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const styles = read('../../page/src/styles/base.css')
const guide = read('../../../docs/contributing/page.md')

const colours = new Map(
  [...styles.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name, light, dark]) => [
    name,
    [light ?? '', dark ?? ''],
  ]),
)

/** Relative luminance, as WCAG 2.2 defines it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

const rows = [...guide.matchAll(/^\| `([\w-]+)` on `([\w-]+)` \| ([\d.]+) \| ([\d.]+) \|$/gm)]

test('the guide lists the contrasts of the page', () => {
  expect(rows.length).toBeGreaterThanOrEqual(12)
})

test.each(rows.map(([, text = '', ground = '', light, dark]) => [text, ground, light, dark] as const))(
  'the contrast of %s on %s is as the guide says, and high enough to read',
  (text, ground, ...stated) => {
    const measured = [0, 1].map((theme) =>
      contrast(colours.get(text)?.[theme] ?? '', colours.get(ground)?.[theme] ?? ''),
    )

    expect(measured.map((value) => value.toFixed(1))).toEqual(stated)
    expect(Math.min(...measured)).toBeGreaterThanOrEqual(text.startsWith('line') ? 3 : 4.5)
  },
)
