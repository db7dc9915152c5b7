import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The service serves the result at /console (server/api/http/console.ts). Nothing is inlined, for the Content-Security-Policy. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react()],
  build: {
    outDir: join(import.meta.dirname, '..', '..', 'generated', 'console'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    target: 'es2023',
    // What the first page needs is one file, which is smaller than many.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
  },
  logLevel: 'warn',
})
