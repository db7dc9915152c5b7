import { join, relative } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const server = join(root, 'server')

/** Whether a symbol is a method of a class of the server, or of an interface that one implements. */
const isMethod = (symbol: ts.Symbol | undefined, implemented: ReadonlySet<ts.Node>): boolean =>
  symbol?.declarations?.some(
    (declaration) =>
      (ts.isMethodSignature(declaration) && implemented.has(declaration.parent)) ||
      (ts.isMethodDeclaration(declaration) &&
        !declaration.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) &&
        ts.isClassLike(declaration.parent) &&
        declaration.getSourceFile().fileName.startsWith(server)),
  ) ?? false

/** The interfaces that the classes of a file implement. */
function implementedIn(source: ts.SourceFile, checker: ts.TypeChecker): ts.Node[] {
  const found: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isHeritageClause(node) && node.token === ts.SyntaxKind.ImplementsKeyword)
      for (const type of node.types) found.push(...(checker.getTypeAtLocation(type).symbol?.declarations ?? []))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Called, or assigned to. */
function isBound(access: ts.PropertyAccessExpression): boolean {
  const { parent } = access
  if (ts.isCallExpression(parent) || ts.isPropertyAccessExpression(parent)) return parent.expression === access
  return ts.isBinaryExpression(parent) && parent.left === access
}

/** The methods that a file takes from their object: by name, by destructuring, or by a copy of the object. */
function unboundIn(source: ts.SourceFile, checker: ts.TypeChecker, implemented: ReadonlySet<ts.Node>): string[] {
  const isOne = (symbol: ts.Symbol | undefined) => isMethod(symbol, implemented)
  const found: string[] = []
  const note = (node: ts.Node) => {
    const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1
    found.push(`${relative(root, source.fileName)}:${line} ${node.getText()}`)
  }
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAccessExpression(node) && isOne(checker.getSymbolAtLocation(node.name)) && !isBound(node))
      note(node)
    if (ts.isObjectBindingPattern(node)) {
      const type = checker.getTypeAtLocation(node)
      for (const element of node.elements)
        if (isOne(type.getProperty((element.propertyName ?? element.name).getText()))) note(element)
    }
    if (ts.isSpreadAssignment(node) && checker.getTypeAtLocation(node.expression).getProperties().some(isOne))
      note(node)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

test('calls each method of a class on its object: the compiler does not see one that has lost it', () => {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, 'tsconfig.json'),
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined },
  )
  const files = config?.fileNames.filter((name) => name.startsWith(server)) ?? []
  const program = ts.createProgram(files, config?.options ?? {})
  const checker = program.getTypeChecker()
  const sources = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(server))
  expect(sources.length).toBeGreaterThan(200)
  const implemented = new Set(sources.flatMap((source) => implementedIn(source, checker)))
  expect(implemented.size).toBeGreaterThan(0)
  expect(sources.flatMap((source) => unboundIn(source, checker, implemented))).toEqual([])
})
