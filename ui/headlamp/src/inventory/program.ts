// Runs cmd/inventory, which is compiled to WebAssembly.

import '../../bin/wasm_exec.js';

/** Go's runtime, of wasm_exec.js. */
declare class Go {
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}

declare global {
  // eslint-disable-next-line no-var
  var describeOperators: Program;
}

/** Returns the Inventory of a Cluster, both as JSON, or an error. */
export type Program = (cluster: Uint8Array) => { inventory?: Uint8Array; error?: string };

/** Starts the program. It runs until the page is left. */
export async function start(gzipped: ReadableStream<Uint8Array>): Promise<Program> {
  const go = new Go();
  const code = new Response(
    gzipped.pipeThrough(new DecompressionStream('gzip') as ReadableWritablePair),
    { headers: { 'Content-Type': 'application/wasm' } }
  );
  const { instance } = await WebAssembly.instantiateStreaming(code, go.importObject);
  void go.run(instance);
  return globalThis.describeOperators;
}
