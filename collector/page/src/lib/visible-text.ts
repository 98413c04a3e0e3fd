/** A part of a text for display: the text itself, or the code of an invisible character. */
export interface TextPart {
  text: string
  isMark: boolean
}

// Characters that are invisible or reorder their neighbours: controls, bidi overrides and isolates, the zero-width space, line
// separators, lone surrogates, tag characters. Newlines and tabs are not replaced: some components keep white space.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this looks for control characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

export function visibleParts(text: string): TextPart[] {
  const parts: TextPart[] = []
  let end = 0
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) parts.push({ text: text.slice(end, match.index), isMark: false })
    parts.push({ text: codeOf(match[0]), isMark: true })
    end = match.index + match[0].length
  }
  if (end < text.length) parts.push({ text: text.slice(end), isMark: false })
  return parts
}

/** For tooltips, labels and the title of the window. */
export function visibleText(text: string): string {
  return visibleParts(text)
    .map(({ text: part, isMark }) => (isMark ? `⟨${part}⟩` : part))
    .join('')
}
