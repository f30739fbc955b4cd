// The objects of operators as a graph, for a map.

import { allKinds, Cluster, Node } from './inventory';
import { levelOf } from './level';
import { Metadata } from './objects';

/** A node of a tree without its children. */
export interface GraphNode extends Omit<Node, 'children'> {
  id: string;
  /** The id of the node above it; undefined for the root. */
  parent?: string;
  /** How many nodes are above it. */
  depth: number;
}

interface GraphEdge {
  id: string;
  source: string;
  target: string;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** Returns the objects of a cluster by their names in trees, such as "Probe default/foo.v1.0.0". */
export function objectsOf(c: Cluster): Map<string, { metadata: Metadata }> {
  const out = new Map<string, { metadata: Metadata }>();
  for (const { kind, plural } of allKinds) {
    for (const o of (c.objects[plural] ?? []) as { metadata: Metadata }[]) {
      const { namespace, name } = o.metadata;
      out.set(`${kind} ${namespace ? `${namespace}/` : ''}${name}`, o);
    }
  }
  return out;
}

/** Returns the uids of a cluster's objects by their names in trees. */
export function uids(c: Cluster): Map<string, string> {
  return new Map([...objectsOf(c)].map(([name, { metadata }]) => [name, metadata.uid ?? '']));
}

/**
 * Returns the graph of trees, with an edge from each object to those that it consists of or waits for.
 * The id of an object is its uid, or else its name. What is counted and well is left out.
 */
export function graph(trees: Node[], uids: Map<string, string>): Graph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  const visit = ({ children = [], ...node }: Node, parent?: GraphNode) => {
    if (isCounted(node.name) && levelOf(node) === 'success') {
      return;
    }
    const name = isCounted(node.name) ? `${parent?.id} ${node.name}` : node.name;
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

/** Reports whether the name of a node is that of several objects, such as "3 Deployments". */
export function isCounted(name: string): boolean {
  return /^\d/.test(name);
}
