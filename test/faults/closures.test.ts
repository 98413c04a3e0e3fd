/** Programs and scripts travel to other processes as text: what they use of the file around them is not there. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const FOLDER = import.meta.dirname
/** Properties of a server's set-up that are functions. */
const SCRIPTS = ['script', 'onHead', 'onConnection']
/** Functions that send one of their arguments away: its place among them. */
const SENDERS: Record<string, number> = { runHost: 1, run: 0 }

const files = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join(FOLDER, name))
const program = ts.createProgram(files, {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  allowImportingTsExtensions: true,
  noEmit: true,
  types: ['node'],
})
const checker = program.getTypeChecker()

function sentFunctions(root: ts.SourceFile): ts.Node[] {
  const found: ts.Node[] = []
  const take = (node: ts.Node | undefined): void => {
    if (node === undefined) return
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) found.push(node)
    else if (ts.isConditionalExpression(node)) {
      take(node.whenTrue)
      take(node.whenFalse)
    } else if (ts.isIdentifier(node)) {
      const declaration = checker.getSymbolAtLocation(node)?.valueDeclaration
      if (declaration !== undefined && ts.isFunctionDeclaration(declaration)) found.push(declaration)
      else if (declaration !== undefined && ts.isVariableDeclaration(declaration))
        take(declaration.initializer)
    }
  }
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const { expression: called } = node
      const name = ts.isPropertyAccessExpression(called) ? called.name.text : called.getText()
      const at = SENDERS[name]
      if (at !== undefined) take(node.arguments[at])
    }
    if (ts.isPropertyAssignment(node) && SCRIPTS.includes(node.name.getText())) take(node.initializer)
    node.forEachChild(visit)
  }
  visit(root)
  return found
}

/** Values that a function uses and that are declared around it. */
function closuresOf(sent: ts.Node): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node)
      const declared = ts.isShorthandPropertyAssignment(node.parent)
        ? checker.getShorthandAssignmentValueSymbol(node.parent)
        : symbol
      const declaration = declared?.declarations?.[0]
      const isProperty = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node
      if (declaration !== undefined && !isProperty && isAround(declaration, sent)) found.push(node.text)
    }
    node.forEachChild(visit)
  }
  visit(sent)
  return found
}

function isAround(declaration: ts.Node, sent: ts.Node): boolean {
  if (declaration.getSourceFile() !== sent.getSourceFile()) return false
  if (ts.isPropertySignature(declaration) || ts.isPropertyAssignment(declaration)) return false
  return declaration.pos < sent.pos || declaration.end > sent.end
}

test.each(files.map((path) => path.slice(FOLDER.length + 1)))(
  '%s: what runs in another process uses nothing of the file around it',
  (name) => {
    const root = program.getSourceFile(join(FOLDER, name)) as ts.SourceFile

    const closures = sentFunctions(root).flatMap((sent) => {
      const { line } = root.getLineAndCharacterOfPosition(sent.getStart())
      return closuresOf(sent).map((used) => `line ${line + 1}: ${used}`)
    })

    expect(closures).toEqual([])
  },
)

test('the functions are found', () => {
  const count = files.reduce(
    (sum, path) => sum + sentFunctions(program.getSourceFile(path) as ts.SourceFile).length,
    0,
  )

  expect(count).toBeGreaterThan(100)
})
