// Every exported name, and every member of an exported class, interface or object type, must have a docstring. A member may
// inherit the docstring of the interface that it implements, as in editors. The target of every @see must exist. `npm run docs`
// lists the problems, and fails if there are any.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'

const REPOSITORY = 'https://github.com/trackpost/trackpost'
const folder = fileURLToPath(new URL('..', import.meta.url))

/** The anchors that GitHub gives to the headings of a document. */
function anchorsOf(markdown) {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** Returns `undefined` if the reference has a target. */
export function brokenReference(reference) {
  if (/^RFC \d+/.test(reference)) return undefined
  const inRepository = `${REPOSITORY}/blob/main/`
  if (reference.startsWith(inRepository)) {
    const [path, anchor] = reference.slice(inRepository.length).split('#')
    if (!existsSync(join(folder, path))) return `${path} does not exist`
    if (anchor === undefined || anchorsOf(readFileSync(join(folder, path), 'utf8')).includes(anchor))
      return undefined
    return `${path} has no heading #${anchor}`
  }
  return /^https:\/\/\S+$/.test(reference) ? undefined : 'it is neither an RFC nor a URL'
}

/** The docstring may be inherited. */
function docsOf(symbol, checker) {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker))
  const tags = symbol.getJsDocTags(checker)
  return { text, tags, isDocumented: text.trim() !== '' || tags.some(({ name }) => name === 'deprecated') }
}

/** Without private and inherited members. */
function membersOf(declaration, checker) {
  const parts = []
  const collect = (node) => {
    if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node) || ts.isTypeLiteralNode(node)) {
      parts.push(...node.members)
    } else if (ts.isTypeAliasDeclaration(node)) collect(node.type)
    else if (ts.isUnionTypeNode(node) || ts.isIntersectionTypeNode(node)) node.types.forEach(collect)
    else if (ts.isParenthesizedTypeNode(node)) collect(node.type)
  }
  collect(declaration)
  return parts.flatMap((member) => {
    const name = member.name?.getText() ?? (ts.isConstructorDeclaration(member) ? 'constructor' : '[key]')
    if (name.startsWith('#')) return []
    const flags = ts.getCombinedModifierFlags(member)
    if (flags & ts.ModifierFlags.Private) return []
    const symbol = member.symbol ?? checker.getSymbolAtLocation(member.name)
    return [{ name, member, symbol }]
  })
}

/** For a declaration that has no symbol, such as a constructor or an index signature. */
function ownText(node) {
  return ts
    .getJSDocCommentsAndTags(node)
    .map((comment) => ts.getTextOfJSDocComment(comment.comment) ?? '')
    .join('')
}

/** Returns one line for each problem, and the number of checked names. */
export function checkDocs(entries) {
  const program = ts.createProgram(entries, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    skipLibCheck: true,
    types: [],
    noEmit: true,
  })
  const checker = program.getTypeChecker()
  const problems = []
  const seen = new Set()
  let count = 0
  const checkTags = (name, tags) => {
    for (const { name: tag, text } of tags) {
      if (tag !== 'see') continue
      for (const reference of ts.displayPartsToString(text).split(/;\s*/)) {
        const reason = brokenReference(reference.trim())
        if (reason !== undefined) problems.push(`${name}: @see ${reference.trim()}: ${reason}`)
      }
    }
  }
  for (const entry of entries) {
    const source = program.getSourceFile(entry)
    const module = checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${entry} is not a module`)
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      if (seen.has(symbol)) continue
      seen.add(symbol)
      count++
      const { tags, isDocumented } = docsOf(symbol, checker)
      const { name } = exported
      if (!isDocumented) problems.push(`${name}: no docstring`)
      checkTags(name, tags)
      for (const declaration of symbol.declarations ?? []) {
        const documentedNames = new Set()
        for (const { name: memberName, member, symbol: memberSymbol } of membersOf(declaration, checker)) {
          const docs = memberSymbol === undefined ? undefined : docsOf(memberSymbol, checker)
          const isMemberDocumented = docs?.isDocumented === true || ownText(member).trim() !== ''
          const full = `${name}.${memberName}`
          if (!documentedNames.has(memberName)) count++
          if (!isMemberDocumented && !documentedNames.has(memberName)) problems.push(`${full}: no docstring`)
          documentedNames.add(memberName)
          if (docs !== undefined) checkTags(full, docs.tags)
        }
      }
    }
  }
  return { problems: [...new Set(problems)], count }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const given = process.argv.slice(2)
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const all = Object.values(exports).flatMap(({ types }) =>
    types === undefined ? [] : [join(folder, types)],
  )
  const entries = (given.length > 0 ? given : all).map((path) => resolve(path))
  const missing = entries.filter((path) => !existsSync(path))
  if (missing.length > 0) {
    console.error(`docs: build first: ${missing.map((path) => relative('.', path)).join(', ')} missing`)
    process.exit(1)
  }
  const { problems, count } = checkDocs(entries)
  for (const problem of problems) console.error(problem)
  console.log(`${count} public names and members, ${problems.length} problems`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
