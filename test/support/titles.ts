import ts from 'typescript'

/** Functions whose arguments are titles of tests, `test.each(...)` and its like included; `value` adds a case to a row. */
const TITLED = new Set(['test', 'it', 'describe', 'row', 'value'])

/** The texts in the titles of the tests in a source file, and in the tables of these tests. Comments and other code have none. */
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

/** The texts and the names of properties in a source file, but not in comments, nor in calls of this function. */
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

/** The texts of an expression, without those of functions in it. */
function collect(node: ts.Node, texts: string[]): void {
  if (ts.isFunctionLike(node)) return
  if (isText(node)) texts.push(node.text)
  ts.forEachChild(node, (child) => collect(child, texts))
}

/** The name that the callee begins with: `test` for `test.concurrent.each(rows)(...)`. */
function calleeOf({ expression: callee }: ts.CallExpression): string {
  let root: ts.Expression = callee
  while (!ts.isIdentifier(root)) {
    if (ts.isCallExpression(root) || ts.isPropertyAccessExpression(root)) root = root.expression
    else if (ts.isTaggedTemplateExpression(root)) root = root.tag
    else return ''
  }
  return root.text
}
