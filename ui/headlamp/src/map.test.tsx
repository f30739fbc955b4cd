import '@testing-library/jest-dom/vitest';
import '.';
import { NodeGlance } from '@kinvolk/headlamp-plugin/lib/components/resourceMap/KubeObjectGlance/NodeGlance';
import { KubeObject } from '@kinvolk/headlamp-plugin/lib/K8s/cluster';
import Event from '@kinvolk/headlamp-plugin/lib/lib/k8s/event';
import store from '@kinvolk/headlamp-plugin/lib/redux/stores/store';
import { cleanup, render } from '@testing-library/react';
import { Provider } from 'react-redux';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { cluster, operators } from './components/testdata';
import { mapOf } from './map';
import { watched } from './resources';

vi.setConfig({ testTimeout: 120_000 }); // a machine may be busy

/** Returns the test data as Headlamp has it. */
function loaded() {
  const objects = new Map<string, KubeObject[]>();
  for (const k of watched) {
    const items = (cluster.objects[k.plural] ?? []) as { metadata: { name: string } }[];
    items.forEach(o => Object.assign(o.metadata, { uid: `${k.kind} ${o.metadata.name}` }));
    objects.set(
      k.plural,
      items.map(o => new k.class({ ...o, kind: k.kind } as never))
    );
  }
  return { cluster, operators, objects, unread: [] };
}

afterEach(cleanup);

describe('the map', () => {
  const nodes = mapOf(loaded())?.nodes ?? [];
  const find = (subtitle: string, label?: string) =>
    nodes.find(n => n.subtitle === subtitle && (!label || n.label === label));

  it('has the status of what is held, what blocks it, and what is broken', () => {
    expect(find('Subscription: Held', 'foo')).toMatchObject({ status: 'warning' });
    expect(find('Foo: Blocking')).toMatchObject({ label: 'example', status: 'warning' });
    expect(find('Subscription: Broken')).toMatchObject({ label: 'baz', status: 'error' });
    expect(find('ClusterServiceVersion')).toMatchObject({ status: 'success' });
  });

  it('has an object for every node, and the kind of a custom resource', () => {
    expect(nodes.filter(n => !n.kubeObject)).toEqual([]);
    expect(find('Probe: Upgradeable=False')?.customResourceDefinition).toBe(
      'probes.operators.coreos.com'
    );
    expect(find('Foo: Blocking')?.customResourceDefinition).toBe('foos.example.com');
  });

  it('is not shown until the operators are loaded', () => {
    expect(mapOf({ objects: new Map(), unread: [] })).toBeNull();
  });

  it.each(nodes.map(n => [n.id, n] as const))('shows why %s is so, under the mouse', (_, node) => {
    vi.spyOn(Event, 'objectEvents').mockResolvedValue([]); // there is no cluster
    const { container } = render(
      <Provider store={store}>
        <NodeGlance node={node} />
      </Provider>
    );
    expect(container).toHaveTextContent(node.data.message ?? '');
  });
});
