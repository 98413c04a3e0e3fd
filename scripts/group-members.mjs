/**
 * Reorders the page that typedoc has written for a class: examples, constructor, members by group, type parameters.
 * `groups` maps the heading of each group to the names of its members. Throws if a member of the page is in no group.
 */
export function groupMembers(markdown, groups) {
  const [head, ...parts] = markdown.split(/^(?=## )/m)
  const titleOf = (part) => /^## (.*)$/m.exec(part)[1]
  const members = new Map(
    parts
      .filter((part) => ['Accessors', 'Methods', 'Properties'].includes(titleOf(part)))
      .flatMap((part) => part.split(/^(?=### )/m).slice(1))
      .map((member) => [nameOf(member), member.replace(/\n\*\*\*\s*$/, '\n').trimEnd()]),
  )
  const grouped = Object.entries(groups).map(([title, names]) => {
    const found = names.filter((name) => members.has(name))
    const texts = found.map((name) => members.get(name))
    for (const name of found) members.delete(name)
    return found.length === 0 ? '' : `## ${title}\n\n${texts.join('\n\n***\n\n')}\n\n`
  })
  if (members.size > 0) throw new Error(`in no group of the reference: ${[...members.keys()].join(', ')}`)
  const rest = (...titles) => parts.filter((part) => titles.includes(titleOf(part)))
  return [
    head,
    ...rest('Example', 'Examples', 'See'),
    ...rest('Constructors').map((part) => `${part.trimEnd()}\n\n`),
    ...grouped,
    ...rest('Type Parameters', 'Extends', 'Implements').map((part) => `${part.trimEnd()}\n\n`),
  ].join('')
}

/** `track` for `### track()`, `[asyncDispose]` for `### \[asyncDispose\]()`. */
function nameOf(member) {
  return /^### (.*)$/m.exec(member)[1].replaceAll('\\', '').replace(/\(\)$/, '').replace(/\?$/, '')
}
