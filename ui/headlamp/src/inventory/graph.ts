// The objects of operators as a graph, for a map.

import { Cluster, Metadata, nameOf } from './objects';
import { levelOf, Node } from './tree';

/** A node of a tree without its children. */
export interface GraphNode extends Omit<Node, 'children'> {
  id: string;
  /** The id of the node above it; undefined for the root. */
  parent?: string;
  /** How many nodes are above it. */
  depth: number;
}

export interface GraphEdge {
  id: string;
  source: string;
  target: string;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** Returns the uids of a cluster's objects by their names in trees, such as "Probe default/foo.v1.0.0". */
export function uids(c: Cluster): Map<string, string> {
  const out = new Map<string, string>();
  const add = (kind: string, objects: { metadata: Metadata }[] | undefined) =>
    objects?.forEach(o => {
      const name = o.metadata.namespace ? nameOf(o) : o.metadata.name;
      out.set(`${kind} ${name}`, o.metadata.uid ?? '');
    });
  add('PlatformOperator', c.platformOperators);
  add('Subscription', c.subscriptions);
  add('InstallPlan', c.installPlans);
  add('ClusterServiceVersion', c.clusterServiceVersions);
  add('OperatorCondition', c.operatorConditions);
  add('Probe', c.probes);
  return out;
}

/**
 * Returns the graph of trees, with an edge from each object to those that it consists of or waits for.
 * The id of an object is its uid, or else its name. What is counted and well is left out.
 */
export function graph(trees: Node[], uids: Map<string, string>): Graph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  const visit = ({ children, ...node }: Node, parent?: GraphNode) => {
    if (!node.ref && levelOf(node.state) === 'success') {
      return;
    }
    const name = node.ref ? node.name : `${parent?.id} ${node.name}`;
    const id = uids.get(name) || name;
    // Subscriptions of a namespace share an InstallPlan.
    const known = nodes.get(id) ?? {
      ...node,
      id,
      parent: parent?.id,
      depth: parent ? parent.depth + 1 : 0,
    };
    nodes.set(id, known);
    if (parent) {
      const edge = `${parent.id} ${id}`;
      edges.set(edge, { id: edge, source: parent.id, target: id });
    }
    children.forEach(child => visit(child, known));
  };
  trees.forEach(tree => visit(tree));
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}
