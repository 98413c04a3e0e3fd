// Finds the small changes (mutants) that mutation testing can make to a source file, and writes a copy of the file that
// contains all mutants. A mutant is inactive until `globalThis.isMutant(number)` returns true. So each file
// is transformed only once.
import ts from 'typescript'

const OPERATORS = {
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
}

/** In the order of the file: `{ line, kind, from, to }`. */
export function findMutants(path, text) {
  const found = []
  write(parse(path, text), text, (mutant) => {
    found.push(mutant)
    return undefined
  })
  return found
}

/**
 * Returns the text with all mutants for which `numberOf(index)` returns a number. `index` is the position in the list of
 * `findMutants`.
 */
export function withMutants(path, text, numberOf) {
  let index = 0
  return write(parse(path, text), text, () => numberOf(index++))
}

function parse(path, text) {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true)
}

function write(root, text, visitMutant) {
  const lineOf = (node) => root.getLineAndCharacterOfPosition(node.getStart()).line + 1
  const raw = (node) => text.slice(node.getStart(), node.end)

  // Returns the text of a node, with its own mutants and the mutants inside it.
  const print = (node) => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return raw(node)
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return raw(node)
    // Numbers the mutants in the order of the file, outer nodes before inner nodes.
    const awake = changesOf(node, raw)
      .map(([to, kind]) => ({ to, kind, line: lineOf(node), from: raw(node) }))
      .map((mutant) => ({ ...mutant, number: visitMutant(mutant) }))
      .filter(({ number }) => number !== undefined)
    let inner = ''
    let at = node.getStart()
    node.forEachChild((child) => {
      inner += text.slice(at, child.getStart()) + print(child)
      at = child.end
    })
    inner += text.slice(at, node.end)
    for (const { number, to, kind } of awake) inner = asleep(number, to, kind, inner)
    // The sources have no semicolons: a statement that now begins with a parenthesis would continue the line before it.
    const isCall = ts.isExpressionStatement(node) && inner.startsWith('(') && !raw(node).startsWith('(')
    return isCall ? `{ ${inner} }` : inner
  }
  return text.slice(0, root.getStart()) + print(root) + text.slice(root.end)
}

function asleep(number, to, kind, inner) {
  const isAwake = `globalThis.isMutant(${number})`
  // Without the outer braces, an `else` after this text would belong to this `if`.
  if (kind === 'no call') return `{ if (!${isAwake}) { ${inner} } }`
  if (kind === 'empty body') return `{ if (${isAwake}) return; ${inner.slice(1)}`
  return `(${isAwake} ? (${to}) : (${inner}))`
}

/** The mutants of a node, as `[text, kind]`, without the mutants inside the node. */
function changesOf(node, raw) {
  const { parent } = node
  if (ts.isBinaryExpression(node)) {
    const operator = node.operatorToken.getText()
    const others = OPERATORS[operator] ?? []
    // `a ?? b && c` without parentheses is a syntax error, and all changes of the file would fail with it.
    const changed = (other) => `(${raw(node.left)}) ${other} (${raw(node.right)})`
    return others.map((other) => [changed(other), `${operator} to ${other}`])
  }
  if (ts.isPrefixUnaryExpression(node)) {
    if (node.operator === ts.SyntaxKind.ExclamationToken) return [[raw(node.operand), 'no !']]
    if (node.operator === ts.SyntaxKind.PlusPlusToken) return [[`--${raw(node.operand)}`, '++ to --']]
    if (node.operator === ts.SyntaxKind.MinusMinusToken) return [[`++${raw(node.operand)}`, '-- to ++']]
  }
  if (ts.isPostfixUnaryExpression(node)) {
    const other = node.operator === ts.SyntaxKind.PlusPlusToken ? '--' : '++'
    return [[`${raw(node.operand)}${other}`, `to ${other}`]]
  }
  if (ts.isExpression(node) && isCondition(node)) {
    return [
      ['true', 'always'],
      ['false', 'never'],
    ]
  }
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [['false', 'true to false']]
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [['true', 'false to true']]
  if (ts.isNumericLiteral(node) && !ts.isPropertyAssignment(parent)) return [[`${raw(node)} + 1`, 'one more']]
  if (ts.isStringLiteral(node) && node.text !== '' && isValue(node)) return [["''", 'no text']]
  if (ts.isExpressionStatement(node) && ts.isCallExpression(node.expression)) {
    return node.expression.expression.kind === ts.SyntaxKind.SuperKeyword ? [] : [['', 'no call']]
  }
  const isBody =
    ts.isBlock(node) &&
    node.statements.length > 0 &&
    ts.isFunctionLike(parent) &&
    !ts.isConstructorDeclaration(parent)
  return isBody ? [['', 'empty body']] : []
}

/**
 * The condition of an `if` or of a `? :`. Not binary expressions, whose operator is changed. Not conditions of loops, because
 * most of their mutants never end.
 */
function isCondition(node) {
  const { parent } = node
  const isTest =
    (ts.isIfStatement(parent) && parent.expression === node) ||
    (ts.isConditionalExpression(parent) && parent.condition === node)
  return isTest && !ts.isBinaryExpression(node)
}

function isValue(node) {
  const { parent } = node
  const isName =
    (ts.isPropertyAssignment(parent) || ts.isElementAccessExpression(parent)) && parent.initializer !== node
  return !isName && !ts.isCaseClause(parent) && !ts.isTypeNode(parent)
}
