// @vitest-environment node

import fs from 'node:fs';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { cluster, operators } from '../components/testdata';
import { encode } from './inventory';
import { start } from './program';

vi.setConfig({ testTimeout: 120_000 }); // a machine may be busy

const file = path.resolve(__dirname, '../../bin/inventory.wasm.gz');

it('describes operators as the Go package does', async () => {
  const describe = await start(
    new Response(fs.readFileSync(file)).body as ReadableStream<Uint8Array>
  );
  const { inventory, error } = describe(encode(cluster));
  expect(error).toBeUndefined();
  expect(JSON.parse(new TextDecoder().decode(inventory)).operators).toEqual(operators);

  // An error does not end it.
  expect(describe(new TextEncoder().encode('[]')).error).toMatch(/^decoding the cluster/);
  expect(describe(encode({ objects: {} })).error).toBeUndefined();
});
