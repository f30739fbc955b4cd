// @vitest-environment node

import { describe, expect, it } from 'vitest';
import { operators } from '../components/testdata';
import { graph, uids } from './graph';
import { Cluster, Node } from './inventory';

const object = (kind: string, name: string, state: string, ...children: Node[]): Node => ({
  name: `${kind} ${name}`,
  state,
  children,
});
const counted = (name: string, state: string): Node => ({ name, state, children: [] });

interface Case {
  reason: string;
  trees: Node[];
  uids?: [string, string][];
  nodes: string[];
  edges: string[];
}

const cases: Record<string, Case> = {
  'an object with a uid': {
    reason: 'Headlamp has the same id for an object that another of its sources shows.',
    trees: [object('Subscription', 'a', 'Held', object('Probe', 'b', 'Upgradeable=False'))],
    uids: [['Probe b', '123']],
    nodes: ['Subscription a at 0', '123 at 1'],
    edges: ['Subscription a > 123'],
  },
  'counted objects': {
    reason: 'Those that are well block nothing. Those of two Probes are not the same.',
    trees: ['a', 'b'].map(name =>
      object(
        'Probe',
        name,
        'Upgradeable=False',
        counted('3 Foos', 'Blocking'),
        counted('1 custom resource', 'Not blocking')
      )
    ),
    nodes: ['Probe a at 0', 'Probe a 3 Foos at 1', 'Probe b at 0', 'Probe b 3 Foos at 1'],
    edges: ['Probe a > Probe a 3 Foos', 'Probe b > Probe b 3 Foos'],
  },
  'an InstallPlan of two Subscriptions': {
    reason: 'It is one node, connected to both.',
    trees: ['a', 'b'].map(name =>
      object('Subscription', name, 'Held', object('InstallPlan', 'c', 'RequiresApproval'))
    ),
    nodes: ['Subscription a at 0', 'InstallPlan c at 1', 'Subscription b at 0'],
    edges: ['Subscription a > InstallPlan c', 'Subscription b > InstallPlan c'],
  },
  'the operator of a PlatformOperator, held by its Probe': {
    reason: 'What blocks is connected to what it blocks.',
    trees: [treeOf('foo')],
    nodes: [
      'PlatformOperator foos at 0',
      'ConfigMap default/settings at 1',
      'Subscription default/foo at 1',
      'ClusterServiceVersion default/foo.v1.0.0 at 2',
      'Probe default/foo.v1.0.0 at 3',
      'Foo apps/example at 4',
    ],
    edges: [
      'PlatformOperator foos > ConfigMap default/settings',
      'PlatformOperator foos > Subscription default/foo',
      'Subscription default/foo > ClusterServiceVersion default/foo.v1.0.0',
      'ClusterServiceVersion default/foo.v1.0.0 > Probe default/foo.v1.0.0',
      'Probe default/foo.v1.0.0 > Foo apps/example',
    ],
  },
};

describe('the graph of', () => {
  it.each(Object.entries(cases))('%s', (name, c) => {
    const got = graph(c.trees, new Map(c.uids));
    expect(
      got.nodes.map(n => `${n.id} at ${n.depth}`),
      c.reason
    ).toEqual(c.nodes);
    expect(
      got.edges.map(e => `${e.source} > ${e.target}`),
      c.reason
    ).toEqual(c.edges);
  });
});

describe('uids', () => {
  it('has the names that trees have', () => {
    const c: Cluster = {
      objects: {
        Probes: [{ metadata: { namespace: 'default', name: 'foo.v1.0.0', uid: '1' } }],
        PlatformOperators: [{ metadata: { name: 'foos', uid: '2' } }],
      },
    };
    expect([...uids(c)]).toEqual([
      ['Probe default/foo.v1.0.0', '1'],
      ['PlatformOperator foos', '2'],
    ]);
  });
});

function treeOf(name: string): Node {
  const tree = operators.find(o => o.metadata.name === name)?.tree;
  if (!tree) {
    throw new Error(`the test data has no operator ${name}`);
  }
  return tree;
}
