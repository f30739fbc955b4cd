// The operators of a cluster: whether each runs and is up to date, and what blocks it. It is pure,
// and the counterpart of internal/installer/olmv0: inventory.test.ts runs the cases of its Go tests.

import { blindProbe, Blocker, blockersOf, failedCSV, Impact } from './blockers';
import { conditions, Namespace, reported, superseded, unreadOf, waits } from './bridge';
import { begun, ran, running } from './csvchain';
import * as gate from './gate';
import {
  CatalogSource,
  Cluster,
  ClusterServiceVersion,
  InstallPlan,
  isCopied,
  nameOf,
  Status,
  statusOf,
  Subscription,
} from './objects';

/**
 * Running: its ClusterServiceVersion has Succeeded, also while an update is on its way.
 * Installing: its first version is on its way.
 * Unknown: its ClusterServiceVersions could not be read.
 */
export type State = 'Running' | 'Installing' | 'Failed' | 'NotInstalled' | 'Unknown';

export interface Operator {
  /** Of its Subscription, or of its ClusterServiceVersion if it has no Subscription. */
  namespace: string;
  name: string;
  /** The PlatformOperator that composes the Subscription. */
  platformOperator?: string;
  package?: string;
  channel?: string;
  /** <namespace>/<name> */
  catalog?: string;
  state: State;
  /** The ClusterServiceVersion that runs, or is being installed first. */
  csv?: string;
  version?: string;
  upToDate: Status;
  /** The ClusterServiceVersion to be installed next. */
  update?: string;
  upgradeable: Status;
  /** The InstallPlan that waits for a user to approve it, and what it installs. */
  approval?: { plan: string; installs: string[] };
  /** First what is broken, then what is held. */
  blockers: Blocker[];
  /** The kinds that could not be read, and on which it depends whether there are more blockers. */
  unread?: string[];
}

/** Returns the worst impact of an operator's blockers. */
export function blocked(o: Operator): Impact | undefined {
  return o.blockers[0]?.impact;
}

/** Reports whether an operator waits for a user to approve its InstallPlan, and not for its gate alone. */
export function awaitsApproval(o: Operator): boolean {
  return o.blockers.some(b => b.reason === 'RequiresApproval' || b.reason === 'ApprovalMissing');
}

/**
 * Returns the version that an operator is to be updated to, if the names of its
 * ClusterServiceVersions differ in their versions alone, or else the name.
 */
export function updateVersion(o: Operator): string | undefined {
  const { csv, version, update } = o;
  if (csv && version && csv.endsWith(version)) {
    const prefix = csv.slice(0, -version.length);
    return update?.startsWith(prefix) ? update.slice(prefix.length) : update;
  }
  return update;
}

/** Returns the operators of a cluster, sorted by namespace and name. */
export function operators(c: Cluster): Operator[] {
  const spaces = byNamespace(c);
  const catalogs = new Map((c.catalogSources ?? []).map(s => [nameOf(s), s]));
  const composed = composers(c);
  const described = new Set<string>();
  const out: Operator[] = [];
  for (const sub of c.subscriptions ?? []) {
    const o = subscribed(sub, spaces(sub.metadata.namespace), catalogs);
    o.platformOperator = composed.get(nameOf(sub));
    for (const name of [sub.status?.installedCSV, sub.status?.currentCSV, o.csv]) {
      described.add(`${sub.metadata.namespace}/${name ?? ''}`);
    }
    out.push(o);
  }
  for (const csv of c.clusterServiceVersions ?? []) {
    if (!isCopied(csv) && !described.has(nameOf(csv))) {
      out.push(unsubscribed(csv, spaces(csv.metadata.namespace)));
    }
  }
  return out.sort((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Returns a function that returns what a namespace has. */
export function byNamespace(c: Cluster): (namespace: string | undefined) => Namespace {
  const out = new Map<string, Namespace>();
  const of = (name: string | undefined): Namespace => {
    let n = out.get(name ?? '');
    if (!n) {
      n = {
        subscriptions: [],
        csvs: new Map(),
        probes: new Map(),
        operatorConditions: new Map(),
        plans: new Map(),
        unread: c.unread ?? [],
      };
      out.set(name ?? '', n);
    }
    return n;
  };
  c.subscriptions?.forEach(o => of(o.metadata.namespace).subscriptions.push(o));
  c.clusterServiceVersions
    ?.filter(o => !isCopied(o))
    .forEach(o => of(o.metadata.namespace).csvs.set(o.metadata.name, o));
  c.probes?.forEach(o => of(o.metadata.namespace).probes.set(o.metadata.name, o));
  c.operatorConditions?.forEach(o =>
    of(o.metadata.namespace).operatorConditions.set(o.metadata.name, o)
  );
  c.installPlans?.forEach(o => of(o.metadata.namespace).plans.set(o.metadata.name, o));
  return of;
}

/** Returns the names of the PlatformOperators by the Subscriptions that they compose. */
function composers(c: Cluster): Map<string, string> {
  const out = new Map<string, string>();
  for (const p of c.platformOperators ?? []) {
    for (const { reference } of p.status?.resources ?? []) {
      if (reference?.kind === 'Subscription') {
        out.set(`${reference.namespace ?? ''}/${reference.name ?? ''}`, p.metadata.name);
      }
    }
  }
  return out;
}

function subscribed(
  sub: Subscription,
  n: Namespace,
  catalogs: Map<string, CatalogSource>
): Operator {
  const { spec, status } = sub;
  const key = spec ? `${spec.sourceNamespace ?? ''}/${spec.source ?? ''}` : undefined;
  let catalog = key ? catalogs.get(key) : undefined;
  if (key && unreadOf(n, 'CatalogSources').length > 0) {
    catalog = reportedCatalog(sub);
  }
  const plan = planOf(sub, n);
  const byUs = reported(sub);
  const unknown = unknownConditions(n, plan);
  const all = byUs
    ? status?.conditions ?? []
    : conditions(sub, n, plan, catalog).filter(c => !unknown.includes(c.type));
  const csv = running(n.csvs, status?.installedCSV || status?.currentCSV);
  const target = status?.currentCSV;
  return limited(
    {
      namespace: sub.metadata.namespace ?? '',
      name: sub.metadata.name,
      package: spec?.name || undefined,
      channel: spec?.channel || undefined,
      catalog: key,
      ...describe(csv, n),
      upToDate: statusOf(all, 'UpToDate'),
      upgradeable: statusOf(all, 'UpgradeHeld') === 'True' ? 'False' : upgradeable(csv, n),
      approval: waits(plan)
        ? { plan: plan.metadata.name, installs: plan.spec?.clusterServiceVersionNames ?? [] }
        : undefined,
      update: (target !== csv?.metadata.name && target) || undefined,
      blockers: blockersOf(sub, all, n, plan),
      unread: someOf(unreadOf(n, 'ClusterServiceVersions', 'Probes')),
    },
    byUs ? [] : undecided(sub, n, catalog)
  );
}

/**
 * Returns the CatalogSource of a Subscription with the health that OLM reports there, which is
 * unknown if OLM does not, or reports that it is not healthy: that may be outdated.
 */
function reportedCatalog({ spec, status }: Subscription): CatalogSource {
  const metadata = { namespace: spec?.sourceNamespace ?? '', name: spec?.source ?? '' };
  const healthy = status?.catalogHealth?.some(
    h =>
      h.healthy &&
      h.catalogSourceRef?.name === metadata.name &&
      h.catalogSourceRef.namespace === metadata.namespace
  );
  return {
    metadata,
    status: healthy ? { connectionState: { lastObservedState: 'READY' } } : {},
  };
}

/** Returns the conditions that cannot be computed, since they depend on what could not be read. */
function unknownConditions(n: Namespace, plan: InstallPlan | undefined): string[] {
  const out: string[] = [];
  if (unreadOf(n, 'ClusterServiceVersions').length > 0) {
    out.push(
      'UpToDate',
      'UpgradeHeld',
      'InstallPlanAwaitingManualApproval',
      'InstalledCSVReplacementAvailable',
      'InstalledCSVFailed',
      'InstalledCSVMissing'
    );
  }
  if (unreadOf(n, 'OperatorConditions').length > 0 && waits(plan)) {
    out.push('UpgradeHeld'); // an override may release it
  }
  return out;
}

/** Returns the kinds that could not be read, and on which it depends what OLM does about a Subscription. */
function undecided(sub: Subscription, n: Namespace, catalog: CatalogSource | undefined): string[] {
  const out =
    sub.status?.state !== 'AtLatestKnown' ? unreadOf(n, 'InstallPlans', 'OperatorConditions') : [];
  return catalog?.status?.connectionState ? out : [...out, ...unreadOf(n, 'CatalogSources')];
}

/** Has an operator claim nothing good that depends on kinds that could not be read. */
function limited(o: Operator, unread: string[]): Operator {
  if (unread.length === 0) {
    return o;
  }
  return {
    ...o,
    upToDate: o.upToDate === 'True' ? 'Unknown' : o.upToDate,
    upgradeable: o.upgradeable === 'True' ? 'Unknown' : o.upgradeable,
    unread: [...(o.unread ?? []), ...unread],
  };
}

function someOf(kinds: string[]): string[] | undefined {
  return kinds.length > 0 ? kinds : undefined;
}

/** Describes the operator of a ClusterServiceVersion that no Subscription installed. */
function unsubscribed(csv: ClusterServiceVersion, n: Namespace): Operator {
  return {
    namespace: csv.metadata.namespace ?? '',
    name: csv.metadata.name,
    ...describe(csv, n),
    upToDate: 'Unknown',
    upgradeable: upgradeable(csv, n),
    blockers: [failedCSV(csv), blindProbe(n.probes.get(csv.metadata.name))].filter(
      (b): b is Blocker => !!b
    ),
    unread: someOf(unreadOf(n, 'Probes')),
  };
}

function describe(
  csv: ClusterServiceVersion | undefined,
  n: Namespace
): Pick<Operator, 'state' | 'csv' | 'version'> {
  if (!csv) {
    const unread = unreadOf(n, 'ClusterServiceVersions').length > 0;
    return { state: unread ? 'Unknown' : 'NotInstalled' };
  }
  const phase = csv.status?.phase ?? '';
  let state: State = 'Installing';
  if (phase === 'Failed') {
    state = 'Failed';
  } else if (['Succeeded', 'Replacing', 'Deleting'].includes(phase) || ran(csv)) {
    state = 'Running';
  }
  return { state, csv: csv.metadata.name, version: csv.spec?.version ?? '0.0.0' };
}

/** Reports whether the gate would let a ClusterServiceVersion be replaced. */
function upgradeable(csv: ClusterServiceVersion | undefined, n: Namespace): Status {
  const phase = csv?.status?.phase;
  if (!csv || (!begun(csv) && phase !== 'Succeeded' && phase !== 'Failed')) {
    return 'Unknown';
  }
  const probe = n.probes.get(csv.metadata.name);
  const update: gate.Inputs = {
    running: csv,
    probe,
    operatorCondition: n.operatorConditions.get(csv.metadata.name),
    target: 'a newer version',
    reader: '',
    targets: '',
    besideOLM: false,
  };
  const decision = gate.evaluate(gate.asReported(update));
  if (
    unreadOf(n, 'OperatorConditions').length > 0 ||
    (!decision.held && unreadOf(n, 'Probes').length > 0)
  ) {
    return 'Unknown';
  }
  return decision.held ? 'False' : 'True';
}

/** Returns the InstallPlan that a Subscription refers to and still needs. */
export function planOf(sub: Subscription, n: Namespace): InstallPlan | undefined {
  const plan = n.plans.get(sub.status?.installPlanRef?.name ?? '');
  return superseded(plan, sub, n.csvs) ? undefined : plan;
}
