import react from '@vitejs/plugin-react';
import path from 'node:path';
import { defineConfig } from 'vite';
import svgr from 'vite-plugin-svgr';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [svgr(), react()],
  define: { 'process.env': {} },
  build: {
    outDir: path.resolve(import.meta.dirname, '../../../../bin/headlamp'),
    emptyOutDir: true,
    minify: false,
    chunkSizeWarningLimit: 1e5,
    reportCompressedSize: false,
  },
});
