// The fields of the objects that describe operators. All are optional: a status may not have been written yet.

export interface Metadata {
  name: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string | null;
  labels?: Record<string, string> | null;
  annotations?: Record<string, string> | null;
}

export type Status = 'True' | 'False' | 'Unknown';

/** A condition, also that of a Subscription. */
export interface Condition {
  type: string;
  status: Status;
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
}

export interface Reference {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
}

export interface Subscription {
  metadata: Metadata;
  spec?: {
    name?: string;
    channel?: string;
    source?: string;
    sourceNamespace?: string;
    startingCSV?: string;
    installPlanApproval?: string;
  } | null;
  status?: {
    currentCSV?: string;
    installedCSV?: string;
    installPlanRef?: Reference | null;
    conditions?: Condition[] | null;
    /** AtLatestKnown, or what OLM is about to do. */
    state?: string;
    catalogHealth?: { catalogSourceRef?: Reference | null; healthy: boolean }[] | null;
  };
}

/** A condition of a ClusterServiceVersion. OLM's are its past phases, and have no type. */
export interface Phase {
  type?: string;
  status?: Status;
  phase?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
}

export interface ClusterServiceVersion {
  metadata: Metadata;
  spec?: { version?: string; replaces?: string; displayName?: string };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    lastTransitionTime?: string | null;
    conditions?: Phase[] | null;
    lastTransitions?: Phase[] | null;
  };
}

export interface InstallPlan {
  metadata: Metadata;
  spec?: { approval?: string; approved?: boolean; clusterServiceVersionNames?: string[] | null };
  status?: {
    phase?: string;
    message?: string;
    conditions?: Condition[] | null;
    plan?: { resolving?: string; resource?: { kind?: string } }[] | null;
  };
}

export interface ProbeResource {
  resource?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  count?: number;
  blocking?: boolean;
  reasons?: string[] | null;
}

export interface Probe {
  metadata: Metadata;
  spec?: {
    manager?: string;
    isolation?: string;
    probeResources?:
      | { name?: string; resource?: string; upgradeable?: string; important?: string }[]
      | null;
  } | null;
  status?: {
    observedGeneration?: number;
    reader?: string;
    observedTargets?: string;
    conditions?: Condition[] | null;
    probeResources?: ProbeResource[] | null;
    summary?: { total: number; notUpgradeable: number; important: number; unknown: number } | null;
  };
}

export interface OperatorCondition {
  metadata: Metadata;
  spec?: { conditions?: Condition[] | null; overrides?: Condition[] | null };
}

export interface CatalogSource {
  metadata: Metadata;
  status?: {
    connectionState?: { address?: string; lastObservedState?: string } | null;
  };
}

export interface ComposedResource {
  name?: string;
  reference?: Reference;
  synced?: boolean;
  ready?: boolean;
  reason?: string;
  message?: string;
}

export interface PlatformOperator {
  metadata: Metadata;
  spec?: { package?: { name?: string; channel?: string }; approval?: string };
  status?: { conditions?: Condition[] | null; resources?: ComposedResource[] | null };
}

/** The objects of a cluster that describe its operators. A kind that cannot be read has none. */
export interface Cluster {
  subscriptions?: Subscription[];
  clusterServiceVersions?: ClusterServiceVersion[];
  installPlans?: InstallPlan[];
  probes?: Probe[];
  operatorConditions?: OperatorCondition[];
  catalogSources?: CatalogSource[];
  platformOperators?: PlatformOperator[];
  /** The kinds that exist and could not be read. Nothing is concluded from the absence of their objects. */
  unread?: string[];
}

/** Returns the condition of a type; undefined if there is none. */
export function find(
  conditions: Condition[] | null | undefined,
  type: string
): Condition | undefined {
  return conditions?.find(c => c.type === type);
}

/** Returns the status of a condition. One that is absent is Unknown. */
export function statusOf(conditions: Condition[] | null | undefined, type: string): Status {
  return find(conditions, type)?.status ?? 'Unknown';
}

/** Returns `<namespace>/<name>`. */
export function nameOf(object: { metadata: Metadata }): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

/** Returns a message on one line, as the end of a sentence; empty if the message is. */
export function quote(message: string | undefined): string {
  const line = (message ?? '').trim().split(/\s+/).join(' ');
  const text = line.replace(/[\p{Cc}\p{Cf}]/gu, '\uFFFD').replace(/[. ]+$/, '');
  return text ? `: ${text}` : '';
}

export const allowUpgrade = 'operatorstatus.io/allow-upgrade';

export function isManual(sub: Subscription): boolean {
  return sub.spec?.installPlanApproval === 'Manual';
}

/** Reports whether operator-status approves the InstallPlans of a Subscription. */
export function isGated(sub: Subscription): boolean {
  return sub.metadata.labels?.['operatorstatus.io/gate'] === 'approval' && isManual(sub);
}

/** Reports whether a ClusterServiceVersion is a copy that OLM created in another namespace. */
export function isCopied(csv: ClusterServiceVersion): boolean {
  const origin = csv.metadata.annotations?.['olm.operatorNamespace'];
  return (
    csv.status?.reason === 'Copied' ||
    (origin !== undefined && origin !== csv.metadata.namespace) ||
    csv.metadata.labels?.['olm.copiedFrom'] !== undefined
  );
}

/** The reasons of the conditions that operator-status writes to an OperatorCondition. */
export const gateReasons = [
  'ProbeNotUpgradeable',
  'ProbeNotRead',
  'ProbeConflict',
  'ProbeUpgradeable',
  'ProbeGone',
  'ApprovalGate',
  'Overridden',
  'Released',
];

export interface Deployment {
  metadata: Metadata;
  spec?: { replicas?: number | null };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    availableReplicas?: number;
    conditions?: Condition[] | null;
  };
}
