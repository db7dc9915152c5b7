import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

interface Package {
  integrity?: string
  inBundle?: boolean
}

const file = join(import.meta.dirname, '..', 'package-lock.json')
const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Package> }

/*
 * npm does not verify a package without integrity. It writes none for an optional package of another platform that the registry
 * does not serve to the machine that writes the lockfile. Remove such packages from the lockfile, and their names from the
 * optionalDependencies of the package there that has them.
 */
test('has a SHA-512 of every package that npm downloads', () => {
  const unverified = Object.entries(packages)
    // The root is this project. A bundled package is inside the archive of another one.
    .filter(([path, { inBundle, integrity }]) => path !== '' && !inBundle && !integrity?.startsWith('sha512-'))
    .map(([path]) => path)
  expect(Object.keys(packages).length).toBeGreaterThan(100)
  expect(unverified).toEqual([])
})
