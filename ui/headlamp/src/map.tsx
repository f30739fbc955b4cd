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
import { Graph, graph, GraphNode, uids } from './inventory/graph';
import { operators } from './inventory/inventory';
import { levelOf, tree } from './inventory/tree';
import { kinds, Loaded, useCluster } from './resources';

/** The objects of operators on Headlamp's map, beside those that Headlamp itself shows. */
export const mapSource: GraphSource = {
  id: 'operators',
  label: 'Operators',
  icon: <Icon icon="mdi:package-variant-closed" width="100%" height="100%" />,
  useData: useMap,
};

function useMap() {
  const loaded = useCluster();
  // A new graph has the map arrange all nodes anew.
  return useMemo(
    () => mapOf(loaded),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [!loaded.cluster, ...kinds.map(k => loaded.objects.get(k))]
  );
}

/** Returns the map of all operators; null until they are loaded. */
export function mapOf({ cluster, objects }: Loaded): Pick<MapNode, 'nodes' | 'edges'> | null {
  if (!cluster) {
    return null;
  }
  const trees = operators(cluster).map(o => tree(cluster, [], o));
  const { nodes, edges } = graph(trees, uids(cluster));
  return { nodes: mapNodes(nodes, [...objects.values()].flat()), edges };
}

/** Headlamp takes a node for its object in places, so that one without has the object of the node above it. */
function mapNodes(nodes: Graph['nodes'], objects: KubeObject[]): MapNode[] {
  const known = new Map(objects.map(o => [o.metadata.uid, o]));
  return nodes.map(n => {
    const kubeObject =
      known.get(n.id) ?? objectOf(n, objects[0]?.cluster) ?? known.get(n.parent ?? '');
    if (kubeObject) {
      known.set(n.id, kubeObject);
    }
    const level = levelOf(n.state);
    return {
      id: n.id,
      kubeObject,
      customResourceDefinition: n.ref?.resource ?? (kubeObject && definitionOf(kubeObject)),
      label: shortened(n.ref?.name ?? n.name),
      subtitle: [n.ref?.kind, level !== 'success' && n.state].filter(Boolean).join(': '),
      status: level || undefined,
      // More than any of Headlamp's own, which are arranged after these.
      weight: 2000 - n.depth,
      data: { message: n.message },
    };
  });
}

/** Returns an object that has not been read. */
function objectOf(n: GraphNode, cluster?: string): KubeObject | undefined {
  if (!n.ref) {
    return undefined;
  }
  const { kind = '', namespace, name = '', resource = '' } = n.ref;
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
  return new type({ kind, metadata } as never, cluster) as KubeObject;
}

/** Returns the name of the CustomResourceDefinition of an object of OLM or operator-status. */
function definitionOf(object: KubeObject): string | undefined {
  const c = kinds.find(k => k.class.kind === object.kind)?.class;
  return c && `${c.apiName}.${[c.apiVersion].flat()[0].split('/')[0]}`;
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
