/** One code block of a guide, as a program. */
export interface Example {
  /** The path of the guide and the line of the block, for titles of tests. */
  readonly name: string
  readonly language: 'js' | 'ts'
  /** The code of the block, with the code of the hidden comments before and after the block. */
  readonly code: string
  /** The content of the `text` block that follows, which the program must write to stdout. */
  readonly output: string | undefined
}

const FENCE = /^```([\w-]*)[^\n]*\n([\s\S]*?)^```$/gm

/**
 * Returns the programs in a document, in order. Each block of `js` or `ts` is a program. A block of `text` directly
 * after it is the output of the program. The comments `<!-- before ... -->` and `<!-- after ... -->` next to a block
 * contain code that completes the program.
 */
export function examplesOf(path: string, markdown: string): Example[] {
  const blocks = [...markdown.matchAll(FENCE)].map((match) => ({
    language: match[1] ?? '',
    code: match[2] ?? '',
    start: match.index,
    end: match.index + match[0].length,
  }))
  return blocks.flatMap(({ language, code, start, end }, index) => {
    if (language !== 'js' && language !== 'ts') return []
    const gapBefore = markdown.slice(blocks[index - 1]?.end ?? 0, start)
    const gapAfter = markdown.slice(end, blocks[index + 1]?.start)
    const before = /<!-- before\n([\s\S]*?)-->\s*$/.exec(gapBefore)?.[1] ?? ''
    const after = /^\s*<!-- after\n([\s\S]*?)-->/.exec(gapAfter)?.[1] ?? ''
    const next = blocks[index + 1]
    const isOutput =
      next?.language === 'text' && gapAfter.replace(/<!-- after\n[\s\S]*?-->/, '').trim() === ''
    const line = markdown.slice(0, start).split('\n').length
    return [
      {
        name: `${path}:${line}`,
        language,
        code: before + code + after,
        output: isOutput ? next.code : undefined,
      },
    ]
  })
}
