const { CONTRACT, FOLDER, RELAYER_URL = 'http://127.0.0.1:8080' } = process.env

/** orval */
module.exports = {
  relayer: { input: CONTRACT, output: { target: `${FOLDER}/relayer.ts`, client: 'fetch', baseUrl: RELAYER_URL } },
}
