import ts from 'typescript'

/**
 * Functions whose arguments contain titles of tests, also as `test.each(...)`. `value` adds a case in
 * test/message/bad-input.ts.
 */
const TITLED = new Set(['test', 'it', 'describe', 'row', 'value'])

/**
 * Returns all strings in the arguments of tests in a source file: the titles, and the tables of `each`. Functions and
 * comments are left out.
 */
export function titlesIn(source: string): string[] {
  const titles: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && TITLED.has(calleeOf(node))) {
      for (const argument of node.arguments) collect(argument, titles)
    }
    const { length } = titles
    ts.forEachChild(node, visit)
    if (ts.isForOfStatement(node) && titles.length > length) collect(node.expression, titles)
  }
  visit(parse(source))
  return titles
}

/** Returns all strings and property names in a source file. Comments and calls of the function `excepted` are left out. */
export function textsIn(source: string, excepted: string): string[] {
  const texts: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && calleeOf(node) === excepted) return
    if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name)) texts.push(node.name.text)
    if (isText(node)) texts.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(parse(source))
  return texts
}

const parse = (source: string): ts.SourceFile =>
  ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest)

const isText = (node: ts.Node): node is ts.LiteralLikeNode =>
  ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)

function collect(node: ts.Node, texts: string[]): void {
  if (ts.isFunctionLike(node)) return
  if (isText(node)) texts.push(node.text)
  ts.forEachChild(node, (child) => collect(child, texts))
}

/** The first name of the called expression: `test` for `test.concurrent.each(rows)(...)`. */
function calleeOf({ expression: callee }: ts.CallExpression): string {
  let root: ts.Expression = callee
  while (!ts.isIdentifier(root)) {
    if (ts.isCallExpression(root) || ts.isPropertyAccessExpression(root)) root = root.expression
    else if (ts.isTaggedTemplateExpression(root)) root = root.tag
    else return ''
  }
  return root.text
}
