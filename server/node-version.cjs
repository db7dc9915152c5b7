// Runs before the service on any version of Node: with an old one, startup fails with one clear line instead of a syntax error.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(
    `This service needs Node 24 or newer; this is ${process.version}. ` +
      'On Linux (x64, arm64) `npm ci` brings Node 26 along; elsewhere install it first.',
  )
  process.exit(1)
}
