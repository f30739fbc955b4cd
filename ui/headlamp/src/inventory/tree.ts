// The counterpart of internal/installer/olmv0/tree.go: the objects that an operator consists of.

import { Namespace } from './bridge';
import { blocked, byNamespace, Operator, planOf } from './inventory';
import {
  Cluster,
  ClusterServiceVersion,
  Condition,
  Deployment,
  find,
  InstallPlan,
  OperatorCondition,
  PlatformOperator,
  Probe,
  Reference,
  Subscription,
} from './objects';

/** An object, or several of a kind that are well. */
export interface Node {
  /** Such as "Probe default/foo.v1.0.0", or "3 Deployments". */
  name: string;
  state: string;
  message?: string;
  /** The object; undefined for several. */
  ref?: Reference & { resource?: string };
  children: Node[];
}

/** How many custom resources of a Probe are nodes of their own. */
const maxNamed = 10;

export function tree(c: Cluster, deployments: Deployment[], op: Operator): Node {
  const n = byNamespace(c)(op.namespace);
  const csvs = [op.csv, op.update]
    .map(name => n.csvs.get(name ?? ''))
    .filter((csv): csv is ClusterServiceVersion => !!csv)
    .map(csv => csvNode(csv, n, deployments));
  const sub = n.subscriptions.find(s => s.metadata.name === op.name);
  let out: Node = {
    name: `Operator ${op.namespace}/${op.name}`,
    state: op.state,
    children: csvs,
  };
  if (sub) {
    out = subscriptionNode(sub, op, planOf(sub, n), csvs);
  } else if (csvs.length === 1) {
    out = csvs[0];
  }
  const composer = c.platformOperators?.find(p => p.metadata.name === op.platformOperator);
  return composer ? platformOperatorNode(composer, out) : out;
}

/** Returns a node of an object, without children. */
function node(kind: string, namespace: string | undefined, name: string, state: string): Node {
  return {
    name: `${kind} ${namespace ? `${namespace}/` : ''}${name}`,
    state,
    ref: { kind, namespace, name },
    children: [],
  };
}

function platformOperatorNode(p: PlatformOperator, subscription: Node): Node {
  const out = node('PlatformOperator', undefined, p.metadata.name, '');
  Object.assign(out, stateOf(p.status?.conditions, 'Ready'));
  let ready = 0;
  for (const r of p.status?.resources ?? []) {
    const { kind = '', namespace, name = '' } = r.reference ?? {};
    if (kind === 'Subscription') {
      continue; // is a node of its own
    }
    if (r.ready) {
      ready++;
    } else {
      out.children.push({ ...node(kind, namespace, name, r.reason ?? ''), message: r.message });
    }
  }
  if (ready > 0) {
    out.children.push(several(ready, 'composed object', 'Ready'));
  }
  out.children.push(subscription);
  return out;
}

function subscriptionNode(
  sub: Subscription,
  op: Operator,
  plan: InstallPlan | undefined,
  csvs: Node[]
): Node {
  const { namespace, name } = sub.metadata;
  const out = node('Subscription', namespace, name, blocked(op) ?? `UpToDate=${op.upToDate}`);
  out.message = op.blockers[0]?.cause;
  if (plan) {
    const { namespace, name } = plan.metadata;
    out.children.push({
      ...node('InstallPlan', namespace, name, plan.status?.phase ?? ''),
      message: planMessage(plan),
    });
  }
  out.children.push(...csvs);
  return out;
}

/** Returns what a plan installs, unless it has. */
function planMessage(plan: InstallPlan): string {
  if (plan.status?.phase === 'Complete') {
    return '';
  }
  const installs = `installs ${(plan.spec?.clusterServiceVersionNames ?? []).join(', ')}`;
  return plan.status?.message ? `${installs}: ${plan.status.message}` : installs;
}

function csvNode(csv: ClusterServiceVersion, n: Namespace, deployments: Deployment[]): Node {
  const { namespace, name } = csv.metadata;
  const phase = csv.status?.phase ?? '';
  const out = node('ClusterServiceVersion', namespace, name, phase);
  out.message = phase === 'Succeeded' ? '' : csv.status?.message;
  out.children = deploymentNodes(csv, deployments);
  const condition = n.operatorConditions.get(name);
  if (condition) {
    out.children.push(...conditionNodes(condition));
  }
  const probe = n.probes.get(name);
  if (probe) {
    out.children.push(probeNode(probe));
  }
  return out;
}

/** Returns the Deployments of a ClusterServiceVersion. Those that run as declared are counted. */
function deploymentNodes(csv: ClusterServiceVersion, deployments: Deployment[]): Node[] {
  const out: Node[] = [];
  let available = 0;
  for (const d of deployments) {
    const { namespace, name, labels, generation = 0 } = d.metadata;
    if (namespace !== csv.metadata.namespace || labels?.['olm.owner'] !== csv.metadata.name) {
      continue;
    }
    const desired = d.spec?.replicas ?? 1;
    const ready = d.status?.availableReplicas ?? 0;
    const updated = d.status?.updatedReplicas ?? 0;
    const old = Math.max((d.status?.replicas ?? 0) - updated, 0);
    const enough = ready >= desired;
    if (
      (d.status?.observedGeneration ?? 0) >= generation &&
      enough &&
      updated >= desired &&
      old === 0
    ) {
      available++;
      continue;
    }
    if (old > 0 || enough) {
      out.push({
        ...node('Deployment', namespace, name, 'Updating'),
        message: `${updated} of ${desired} pods are of the new version, and ${old} of an older one`,
      });
      continue;
    }
    const why = d.status?.conditions?.find(
      c => c.status !== 'True' && ['Available', 'Progressing'].includes(c.type)
    );
    out.push({
      ...node('Deployment', namespace, name, `${ready}/${desired}`),
      message: why?.message,
    });
  }
  if (available > 0) {
    out.push(several(available, 'Deployment', 'Available'));
  }
  return out;
}

/** Returns an OperatorCondition that has an effect on updates. */
function conditionNodes(o: OperatorCondition): Node[] {
  const override = find(o.spec?.overrides, 'Upgradeable');
  const c = override ?? find(o.spec?.conditions, 'Upgradeable');
  if (!c || (!override && c.status === 'True')) {
    return [];
  }
  const { namespace, name } = o.metadata;
  return [
    {
      ...node('OperatorCondition', namespace, name, `Upgradeable=${c.status}`),
      message: c.message,
    },
  ];
}

/** Returns a Probe with custom resources that block. The others are counted. */
function probeNode(probe: Probe): Node {
  const { namespace, name } = probe.metadata;
  const out = node('Probe', namespace, name, '');
  Object.assign(out, stateOf(probe.status?.conditions, 'Upgradeable'));
  let shown = 0;
  for (const r of probe.status?.probeResources ?? []) {
    if (!r.blocking || out.children.length === maxNamed) {
      continue;
    }
    const child = r.name
      ? node(r.kind ?? '', r.namespace, r.name, 'Blocking')
      : several(r.count ?? 0, r.kind ?? '', 'Blocking');
    if (child.ref) {
      child.ref.resource = r.resource;
    }
    shown += r.name ? 1 : r.count ?? 0;
    out.children.push({ ...child, message: (r.reasons ?? []).join(', ') });
  }
  const summary = probe.status?.summary;
  if (summary) {
    const more = summary.notUpgradeable - shown;
    if (more > 0) {
      out.children.push(several(more, 'more custom resource', 'Blocking'));
    }
    const others = summary.total - summary.notUpgradeable;
    if (others > 0) {
      out.children.push(several(others, 'custom resource', 'Not blocking'));
    }
  }
  return out;
}

/** Returns a condition as a state, and its message unless it is True. */
function stateOf(conditions: Condition[] | null | undefined, type: string) {
  const c = find(conditions, type);
  return {
    state: `${type}=${c?.status ?? 'Unknown'}`,
    message: c && c.status !== 'True' ? c.message : '',
  };
}

function several(n: number, what: string, state: string): Node {
  return { name: `${n} ${what}${n === 1 ? '' : 's'}`, state, children: [] };
}

const well = ['Succeeded', 'Complete', 'Available', 'Ready', 'Not blocking', 'Running'];
const bad = ['Broken', 'Failed'];
const waiting = ['Held', 'Blocking', 'RequiresApproval', 'Pending', 'Installing', 'InstallReady'];

/** Returns how well a state is; empty if that is not known. */
export function levelOf(state: string): 'success' | 'warning' | 'error' | '' {
  if (well.includes(state) || state.endsWith('=True')) {
    return 'success';
  }
  if (bad.includes(state)) {
    return 'error';
  }
  return waiting.includes(state) || state.endsWith('=False') || /^\d+\/\d+$/.test(state)
    ? 'warning'
    : '';
}
