// The forms of `npm test`. The name of a test file says in which form it runs:
//   x.test.ts        in the default form and in the full form
//   x.sized.test.ts  in each form; in the others with more tests or larger sizes
//   x.full.test.ts   not in the default form
//   x.night.test.ts  only in the full form

/** `default`, `rest` (what the default form leaves out, without the night) or `full`. Without scripts/test.mjs, it is `full`. */
export const TIER = /** @type {'default' | 'rest' | 'full'} */ (process.env.TEST_TIER ?? 'full')

/** The patterns of the test files of a vitest project that run in this form, in `folder`. */
export function filesOfTier(folder = 'test', exclude = []) {
  const named = (words) => `${folder}/**/*.${words}.test.ts`
  if (TIER === 'rest') return { include: [named('{sized,full}')], exclude }
  const left = TIER === 'default' ? [named('{full,night}')] : []
  return { include: [`${folder}/**/*.test.ts`], exclude: [...exclude, ...left] }
}
