// @vitest-environment node

import { load } from 'js-yaml';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Operator, operators } from './inventory';
import { Cluster, Deployment } from './objects';
import { Node, tree } from './tree';

interface Case {
  reason: string;
  cluster: Cluster;
  operators: Operator[];
  deployments?: Deployment[];
  trees: string[][] | null;
}

/** The clusters of the Go tests of internal/installer/olmv0, with what it returns for them. */
const testdata = path.resolve(__dirname, '../../../../internal/installer/olmv0/testdata');

describe.each(fs.readdirSync(testdata))('%s of the Go package', file => {
  const cases = load(fs.readFileSync(path.join(testdata, file), 'utf8')) as Record<string, Case>;
  it.each(Object.entries(cases))('%s', (name, c) => check(c, c.reason));
});

const folder = import.meta.env.INVENTORY_CASES;

// `make ui-test` has the Go package generate them. Each key has the seed.
it.skipIf(!folder)(`random clusters ${folder ? '' : '(INVENTORY_CASES names no folder)'}`, () => {
  const text = fs.readFileSync(path.join(folder as string, 'random.json'), 'utf8');
  const cases = Object.entries(JSON.parse(text) as Record<string, Case>);
  expect(cases.length).toBeGreaterThan(100);
  for (const [name, c] of cases) {
    check(c, `${name}: ${JSON.stringify(c.cluster)}`);
  }
});

/** Compares each operator of a cluster, and its tree, with what the Go package returned. */
function check(c: Case, reason: string) {
  const got = operators(c.cluster);
  expect(plain(got), reason).toEqual(c.operators);
  const trees = got.map(o => lines(tree(c.cluster, c.deployments ?? [], o)));
  expect(trees, reason).toEqual(c.trees ?? []);
}

/** Returns a value as JSON has it, without what is undefined. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

/** Returns a tree as the lines of the Go test. */
function lines(n: Node): string[] {
  const line = `${n.name} | ${n.state} | ${n.message ?? ''}`.replace(/[ |]+$/, '');
  return [line, ...n.children.flatMap(lines).map(l => `. ${l}`)];
}
