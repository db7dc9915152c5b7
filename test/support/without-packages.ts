import { registerHooks } from 'node:module'

// Loaded before a program: the packages that WITHOUT_PACKAGES names are not installed, and pkcs11js is not compiled.

const names = (process.env.WITHOUT_PACKAGES ?? '').split(',')

registerHooks({
  resolve(specifier, context, nextResolve) {
    const missing = names.includes(specifier) && 'ERR_MODULE_NOT_FOUND'
    const code = specifier.endsWith('/pkcs11.node') ? 'MODULE_NOT_FOUND' : missing
    if (code) throw Object.assign(new Error(`Cannot find ${specifier}`), { code })
    return nextResolve(specifier, context)
  },
})
