// The operators of a cluster, as internal/inventory describes them. That Go package runs in a worker.

import program from '../../bin/inventory.wasm.gz?url';
import kinds from './kinds.json';
import Worker from './worker?worker&inline';

/** A kind of objects that describe operators. internal/inventory documents its fields. */
export interface Kind {
  group: string;
  version: string;
  kind: string;
  plural: string;
  selector?: string;
  clusterScoped?: boolean;
  allNamespaces?: boolean;
  background?: boolean;
  unwatched?: boolean;
  metadata?: boolean;
  pods?: boolean;
}

export const allKinds: Kind[] = kinds;

export type Status = 'True' | 'False' | 'Unknown';
export type State = 'Running' | 'Installing' | 'Failed' | 'Stopped' | 'NotInstalled' | 'Unknown';
export type Impact = 'Broken' | 'Held' | 'Waiting' | 'Notice';

/** An operator, as `kubectl operator-status get -o json` prints it. */
export interface Operator {
  metadata: { namespace: string; name: string };
  installer?: string;
  platformOperator?: string;
  package?: string;
  channel?: string;
  /** <namespace>/<name> */
  catalog?: string;
  state: State;
  clusterServiceVersion?: string;
  version?: string;
  upToDate: Status;
  /** The version to be installed next. */
  update?: string;
  upgradeable: Status;
  /** The InstallPlan that waits for a user to approve it, and the versions that it installs. */
  approval?: { installPlan: string; installs: string[] };
  /** The worst impact of its blockers. */
  blocked?: Impact;
  /** The worst are first. */
  blockers?: Blocker[];
  /** The holds of an update that is not known yet. */
  wouldHold?: Blocker[];
  /** Important conditions of its custom resources. They block nothing. */
  notices?: Blocker[];
  /** The kinds that could not be read, and could reveal more blockers. */
  unread?: string[];
  /** The objects that it consists of, if asked for. */
  tree?: Node;
}

/** One thing that keeps an operator from running or from being up to date. */
export interface Blocker {
  impact: Impact;
  /** The object that blocks, such as "Probe default/foo.v1.0.0". */
  by: string;
  reason: string;
  since?: string;
  cause: string;
  steps?: { to: string; command: string }[];
}

/** An object that an operator consists of, or several healthy ones of a kind. */
export interface Node {
  /** Such as "Probe default/foo.v1.0.0", or "3 Deployments". */
  name: string;
  /** Of a custom resource: the name of its CustomResourceDefinition. */
  resource?: string;
  state: string;
  message?: string;
  children?: Node[];
}

/** The objects of a cluster, as read at one moment. */
export interface Cluster {
  /** By the plural of their kind. A kind that is not installed has none. */
  objects: Record<string, unknown[]>;
  /** The kinds that may not be read. Nothing is concluded from the absence of their objects. */
  unread?: string[];
  /** The only namespace of which objects were read. */
  namespace?: string;
  /** The namespaces of which pods were read. */
  pods?: string[];
  trees?: boolean;
}

export interface Inventory {
  operators: Operator[];
  /** The namespaces whose pods tell why workloads do not run. */
  pods?: string[];
}

/** A question to the worker, and its answer. */
export interface Question {
  id: number;
  /** Where the program is. The first question to a worker has it. */
  program?: string;
  cluster: Uint8Array;
}

export interface Answer {
  id: number;
  inventory?: Uint8Array;
  error?: string;
}

interface Waiting {
  resolve: (inventory: Inventory) => void;
  reject: (error: Error) => void;
}

const waiting = new Map<number, Waiting>();
let worker: globalThis.Worker | undefined;
let questions = 0;

/** Describes the operators of a cluster. */
export async function describe(cluster: Cluster): Promise<Inventory> {
  const question: Question = { id: questions++, cluster: encode(cluster) };
  if (!worker) {
    worker = started();
    question.program = new URL(program, window.location.href).href;
  }
  return new Promise((resolve, reject) => {
    waiting.set(question.id, { resolve, reject });
    worker?.postMessage(question, [question.cluster.buffer]);
  });
}

function started(): globalThis.Worker {
  const out = new Worker();
  out.onmessage = ({ data: { id, inventory, error } }: MessageEvent<Answer>) => {
    const to = waiting.get(id);
    waiting.delete(id);
    if (inventory) {
      to?.resolve(JSON.parse(new TextDecoder().decode(inventory)));
    } else {
      to?.reject(new Error(error));
    }
  };
  out.onerror = ({ message }) => {
    if (worker !== out) {
      return;
    }
    waiting.forEach(w => w.reject(new Error(message)));
    waiting.clear();
    out.terminate();
    worker = undefined; // the next question starts another one
  };
  return out;
}

/** Fields that no description uses, and that may be large. */
const dropped = new Set([
  'fieldsV1',
  'kubectl.kubernetes.io/last-applied-configuration',
  'alm-examples',
  'base64data',
]);

export function encode(cluster: Cluster): Uint8Array {
  const text = JSON.stringify(cluster, (key, value) => (dropped.has(key) ? undefined : value));
  return new TextEncoder().encode(text);
}

/** Reports whether an operator waits for a user to approve its InstallPlan, and not for its gate alone. */
export function awaitsApproval(o: Operator): boolean {
  return !!o.blockers?.some(b => ['RequiresApproval', 'ApprovalMissing'].includes(b.reason));
}

/**
 * Returns the version that an operator is to be updated to, if the names of its versions differ in
 * these alone, or else the name.
 */
export function updateVersion(o: Operator): string | undefined {
  const { clusterServiceVersion: name, version, update } = o;
  if (name && version && name.endsWith(version)) {
    const prefix = name.slice(0, -version.length);
    return update?.startsWith(prefix) ? update.slice(prefix.length) : update;
  }
  return update;
}
