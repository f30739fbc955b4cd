import { Icon } from '@iconify/react';
import { K8s } from '@kinvolk/headlamp-plugin/lib';
import {
  GraphNode as MapNode,
  GraphSource,
} from '@kinvolk/headlamp-plugin/lib/components/resourceMap/graph/graphModel';
import { makeCustomResourceClass } from '@kinvolk/headlamp-plugin/lib/Crd';
import { KubeObject } from '@kinvolk/headlamp-plugin/lib/K8s/cluster';
import { Typography } from '@mui/material';
import { useMemo } from 'react';
import { definitions, objectNamed } from './components/links';
import { Graph, graph, GraphNode, isCounted, objectsOf, uids } from './inventory/graph';
import { allKinds, Cluster, Node } from './inventory/inventory';
import { levelOf } from './inventory/level';
import { Loaded, useOperators } from './resources';

/** The objects of operators on Headlamp's map, beside those that Headlamp itself shows. */
export const mapSource: GraphSource = {
  id: 'operators',
  label: 'Operators',
  icon: <Icon icon="mdi:package-variant-closed" width="100%" height="100%" />,
  useData: useMap,
};

function useMap() {
  const loaded = useOperators({ trees: true });
  // A new graph has the map arrange all nodes anew.
  return useMemo(
    () => mapOf(loaded),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [JSON.stringify(loaded.operators), loaded.failure]
  );
}

/** Returns the map of all operators; null until they are loaded. */
export function mapOf(loaded: Loaded): Pick<MapNode, 'nodes' | 'edges'> | null {
  const { cluster, operators, objects, failure } = loaded;
  if (!cluster || !operators) {
    return failure ? { nodes: [], edges: [] } : null;
  }
  const trees = operators.flatMap((o): Node[] => (o.tree ? [o.tree] : []));
  const { nodes, edges } = graph(trees, uids(cluster));
  return { nodes: mapNodes(nodes, [...objects.values()].flat(), cluster), edges };
}

/** Headlamp takes a node for its object in places, so that one without has the object of the node above it. */
function mapNodes(nodes: Graph['nodes'], objects: KubeObject[], cluster: Cluster): MapNode[] {
  const read = objectsOf(cluster);
  const known = new Map(objects.map(o => [o.metadata.uid, o]));
  return nodes.map(n => {
    const kubeObject =
      known.get(n.id) ??
      objectOf(n, read.get(n.name), objects[0]?.cluster) ??
      known.get(n.parent ?? '');
    if (kubeObject) {
      known.set(n.id, kubeObject);
    }
    const level = levelOf(n);
    const ref = isCounted(n.name) ? undefined : objectNamed(n.name);
    return {
      id: n.id,
      kubeObject,
      customResourceDefinition: n.resource ?? definitions[kubeObject?.kind ?? ''],
      label: shortened(ref?.name ?? n.name),
      subtitle: [ref?.kind, level !== 'success' && n.state].filter(Boolean).join(': '),
      status: level || undefined,
      // More than any of Headlamp's own, which are arranged after these.
      weight: 2000 - n.depth,
      data: { message: n.message },
    };
  });
}

/** Returns an object that is not watched, with what was read of it. */
function objectOf(n: GraphNode, read?: object, cluster?: string): KubeObject | undefined {
  const { kind = '', namespace, name = '' } = objectNamed(n.name);
  // Headlamp shows the status of a workload.
  if (isCounted(n.name) || (!read && allKinds.some(k => k.kind === kind))) {
    return undefined;
  }
  const { resource = '' } = n;
  const [pluralName, ...group] = resource.split('.');
  const type =
    Object.values(K8s.ResourceClasses).find(c => !resource && c.kind === kind) ??
    makeCustomResourceClass({
      // It is not read through this class, so that its version does not matter.
      apiInfo: [{ group: group.join('.'), version: 'v1' }],
      kind,
      pluralName,
      singularName: '',
      isNamespaced: !!namespace,
    });
  const metadata = { name, namespace, uid: n.id, creationTimestamp: '' };
  return new type({ kind, metadata, ...read } as never, cluster) as KubeObject;
}

/** Returns a name that a node of the map has room for. The names of ClusterServiceVersions differ at their ends. */
function shortened(name: string): string {
  const most = 16;
  return name.length > most ? `${name.slice(0, most / 2 - 1)}…${name.slice(-most / 2)}` : name;
}

/** What the map shows of a node when the mouse is over it. */
export function Glance({ node }: { node: MapNode }) {
  return node.data?.message ? (
    <Typography variant="body2" sx={{ mt: 1, maxWidth: 300 }}>
      {node.data.message}
    </Typography>
  ) : null;
}
