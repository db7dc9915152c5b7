// The floors of the server, from the top. A room imports from the floors below it, and rooms on one floor do not import each other.
// .dependency-cruiser.cjs enforces them; test/structure.ts counts them.
module.exports = [
  ['cli'],
  ['app'],
  ['api'],
  ['services'],
  ['sender', 'webhooks'],
  ['chain', 'keys', 'telemetry'],
  ['store'],
  ['domain'],
  ['lib'],
]
