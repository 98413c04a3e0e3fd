/**
 * The page of a class from typedoc, in the order of a reader's needs: example, constructor, members by group,
 * and type parameters last. `groups` lists members by heading; throws when a member of the page is in no
 * group.
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

/** `track` of `### track()`, `[asyncDispose]` of `### \[asyncDispose\]()`. */
function nameOf(member) {
  return /^### (.*)$/m.exec(member)[1].replaceAll('\\', '').replace(/\(\)$/, '').replace(/\?$/, '')
}
