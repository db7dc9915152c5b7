import { join, relative } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const server = join(root, 'server')

/** Whether a symbol is a method of a class of the server. */
const isMethod = (symbol: ts.Symbol | undefined): boolean =>
  symbol?.declarations?.some(
    (declaration) =>
      ts.isMethodDeclaration(declaration) &&
      !declaration.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) &&
      ts.isClassLike(declaration.parent) &&
      declaration.getSourceFile().fileName.startsWith(server),
  ) ?? false

/** Called, or assigned to. */
function isBound(access: ts.PropertyAccessExpression): boolean {
  const { parent } = access
  if (ts.isCallExpression(parent) || ts.isPropertyAccessExpression(parent)) return parent.expression === access
  return ts.isBinaryExpression(parent) && parent.left === access
}

/** The methods that a file takes from their object: by name, by destructuring, or by a copy of the object. */
function unboundIn(source: ts.SourceFile, checker: ts.TypeChecker): string[] {
  const found: string[] = []
  const note = (node: ts.Node) => {
    const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1
    found.push(`${relative(root, source.fileName)}:${line} ${node.getText()}`)
  }
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAccessExpression(node) && isMethod(checker.getSymbolAtLocation(node.name)) && !isBound(node))
      note(node)
    if (ts.isObjectBindingPattern(node)) {
      const type = checker.getTypeAtLocation(node)
      for (const element of node.elements)
        if (isMethod(type.getProperty((element.propertyName ?? element.name).getText()))) note(element)
    }
    if (ts.isSpreadAssignment(node) && checker.getTypeAtLocation(node.expression).getProperties().some(isMethod))
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
  expect(sources.flatMap((source) => unboundIn(source, checker))).toEqual([])
})
