// The fields of objects that the pages show. All are optional: a status may not have been written yet.

import { Status } from './inventory';

export interface Metadata {
  name: string;
  namespace?: string;
  uid?: string;
  creationTimestamp?: string | null;
}

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

/** A condition of a ClusterServiceVersion. OLM's are its past phases, and have no type. */
interface Phase {
  type?: string;
  status?: Status;
  phase?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
}

export interface ClusterServiceVersion {
  metadata: Metadata;
  spec?: { replaces?: string };
  status?: {
    conditions?: Phase[] | null;
    lastTransitions?: Phase[] | null;
  };
}

export interface InstallPlan {
  metadata: Metadata;
  spec?: { clusterServiceVersionNames?: string[] | null };
  status?: {
    phase?: string;
    conditions?: Condition[] | null;
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
    probeResources?:
      | { name?: string; resource?: string; upgradeable?: string; important?: string }[]
      | null;
  } | null;
  status?: {
    conditions?: Condition[] | null;
    probeResources?: ProbeResource[] | null;
    summary?: { total: number; notUpgradeable: number; important: number; unknown: number } | null;
  };
}

export interface ComposedResource {
  name?: string;
  reference?: Reference;
  ready?: boolean;
  reason?: string;
  message?: string;
}

export interface PlatformOperator {
  metadata: Metadata;
  spec?: { package?: { name?: string; channel?: string }; approval?: string };
  status?: { conditions?: Condition[] | null; resources?: ComposedResource[] | null };
}

/** Returns the condition of a type; undefined if there is none. */
export function find(
  conditions: Condition[] | null | undefined,
  type: string
): Condition | undefined {
  return conditions?.find(c => c.type === type);
}

export const allowUpgrade = 'operatorstatus.io/allow-upgrade';
