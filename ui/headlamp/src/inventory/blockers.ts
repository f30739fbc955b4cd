// The counterpart of internal/installer/olmv0/blockers.go: what keeps an operator from running or being
// up to date.

import {
  heldByOLM,
  isUpdating,
  Namespace,
  outdatedFailure,
  reported,
  unreadOf,
  updateOf,
  updatesOf,
  waits,
} from './bridge';
import { running } from './csvchain';
import {
  asReported,
  command,
  cutFrom,
  evaluatePlan,
  Hold,
  Obj,
  overrideOf,
  statement,
} from './gate';
import {
  ClusterServiceVersion,
  Condition,
  find,
  InstallPlan,
  nameOf,
  Probe,
  Subscription,
} from './objects';
import { howToApprove } from './subscription';

/** Broken: a user has to repair something. Held: an update waits, and goes on by itself or with an approval. */
export type Impact = 'Broken' | 'Held';

export interface Step {
  to: string;
  command: string;
}

export interface Blocker {
  impact: Impact;
  /** The object that blocks, such as "Probe default/foo.v1.0.0". */
  by: string;
  reason: string;
  /** When it began; undefined if that is not known. */
  since?: string;
  cause: string;
  steps: Step[];
}

const toUpdateAnyway = 'To update anyway';

/** The conditions of a Subscription that a user has to end, the most important first. */
const broken = [
  'InstalledCSVFailed',
  'InstallPlanFailed',
  'BundleUnpackFailed',
  'CatalogSourceInvalid',
  'PackageChannelInvalid',
  'ResolutionFailed',
  'InstalledCSVMissing',
  'InstallPlanPending',
];

/** Reasons of InstallPlanPending for a plan that is being applied or only needs approval. An older OLM sets none. */
const goesOn = new Set([
  '',
  'InstallPlanNotYetReconciled',
  'Planning',
  'RequiresApproval',
  'Installing',
  'InstallPlanPending',
]);

export function blockersOf(
  sub: Subscription,
  conditions: Condition[],
  n: Namespace,
  plan: InstallPlan | undefined
): Blocker[] {
  const out: Blocker[] = [];
  for (const type of broken) {
    const c = find(conditions, type);
    if (c?.status !== 'True' || isInProgress(c)) {
      continue;
    }
    out.push(...(type === 'ResolutionFailed' ? unresolvable(sub, c, n) : [brokenBy(sub, c, n)]));
  }
  const csv = running(n.csvs, sub.status?.installedCSV);
  const blind = csv && blindProbe(n.probes.get(csv.metadata.name));
  if (blind) {
    out.push(blind);
  }
  const isHeld = find(conditions, 'UpgradeHeld');
  if (isHeld?.status === 'True') {
    out.push(...heldUpdate(sub, isHeld, n, plan));
  }
  const awaits = find(conditions, 'InstallPlanAwaitingManualApproval');
  if (awaits?.status === 'True' && plan) {
    out.push(unapproved(awaits, plan));
  } else if (awaits?.status === 'True' && unreadOf(n, 'InstallPlans').length > 0) {
    const { by, step } = origin(sub, 'InstallPlanMissing', n);
    out.push({ impact: 'Held', by, steps: [step], ...cause(awaits) });
  }
  return distinct(out);
}

/** Whether a condition reports a plan that goes on, or an update that an UpgradeHold keeps OLM from beginning. */
function isInProgress(c: Condition): boolean {
  return (
    (c.type === 'InstallPlanPending' && goesOn.has(c.reason ?? '')) ||
    (c.type === 'BundleUnpackFailed' &&
      c.reason === 'EnsureInstallPlanFailed' &&
      (c.message ?? '').includes("hold-installplans' denied request: The update to "))
  );
}

/** Reports whether OLM holds an update, and the resolution of the whole namespace fails because of that. */
function failsByHold(sub: Subscription, failed: Condition, n: Namespace): boolean {
  return heldByOLM(sub, n).held && (failed.message ?? '').includes(sub.status?.currentCSV ?? '');
}

function brokenBy(sub: Subscription, c: Condition, n: Namespace): Blocker {
  const { by, step } = origin(sub, c.type, n);
  return { impact: 'Broken', by, steps: [step], ...cause(c) };
}

function cause(c: Condition): { reason: string; since?: string; cause: string } {
  return {
    reason: c.reason ?? '',
    since: c.lastTransitionTime ?? undefined,
    cause: c.message ?? '',
  };
}

/** Returns what a failed resolution of the whole namespace means for a Subscription. */
function unresolvable(sub: Subscription, c: Condition, n: Namespace): Blocker[] {
  const { namespace, name } = sub.metadata;
  const by = n.subscriptions.find(s => failsByHold(s, c, n) || isUpdating(s, c, n.csvs));
  if (by) {
    if (by.metadata.name === name) {
      return []; // its own blockers tell why
    }
    const update = `${by.metadata.name} to ${by.status?.currentCSV}`;
    return [
      {
        ...cause(c),
        impact: 'Held',
        by: `Subscription ${nameOf(by)}`,
        cause: failsByHold(by, c, n)
          ? `OLM cannot resolve namespace ${namespace} while it holds the update of ${update}`
          : `OLM cannot resolve namespace ${namespace} while ${by.metadata.name} is being updated to ${by.status?.currentCSV}`,
        steps: [
          {
            to: 'To see its blockers',
            command: `kubectl operator-status why -n ${by.metadata.namespace} ${by.metadata.name}`,
          },
        ],
      },
    ];
  }
  const csv = outdatedFailure(sub, n.csvs);
  if (!csv || unreadOf(n, 'ClusterServiceVersions').length > 0) {
    return [brokenBy(sub, c, n)];
  }
  return [
    {
      ...cause(c),
      impact: 'Held',
      by: `Subscription ${nameOf(sub)}`,
      cause:
        `OLM's last resolution of namespace ${namespace} failed because of ClusterServiceVersion ${csv}, ` +
        'which has since been deleted; OLM resolves it again within 15 minutes',
      steps: [
        {
          to: 'To have OLM resolve it now', // any change of a Subscription triggers OLM's resolver
          command: `kubectl annotate --overwrite subscription.operators.coreos.com -n ${namespace} ${name} operatorstatus.io/resolve-anew=$(date +%s)`,
        },
      ],
    },
  ];
}

/** Removes blockers that report the same as an earlier one, which keeps since when. */
function distinct(blockers: Blocker[]): Blocker[] {
  const out: Blocker[] = [];
  for (const b of blockers) {
    const same = out.find(o => o.impact === b.impact && o.cause === b.cause);
    if (!same) {
      out.push(b);
    } else {
      same.since = same.since ?? b.since;
    }
  }
  return out;
}

/** Whether a text may be the name of an object. A status can contain any other text, which does not belong into a command. */
function isName(text: string | undefined): text is string {
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text ?? '');
}

/**
 * Returns the object that a condition of a Subscription is about, and a command that shows it. It is the Subscription itself
 * if that names no other.
 */
function origin(sub: Subscription, type: string, n: Namespace): { by: string; step: Step } {
  const { spec, status } = sub;
  const { namespace } = sub.metadata;
  const itself = [
    'Subscription',
    'subscription.operators.coreos.com',
    namespace,
    sub.metadata.name,
  ];
  const csv = ['ClusterServiceVersion', 'clusterserviceversion.operators.coreos.com', namespace];
  const failed = [status?.currentCSV, status?.installedCSV].find(
    name => n.csvs.get(name ?? '')?.status?.phase === 'Failed'
  );
  const plan = [
    'InstallPlan',
    'installplan.operators.coreos.com',
    namespace,
    status?.installPlanRef?.name,
  ];
  const others: Record<string, (string | undefined)[]> = {
    CatalogSourceInvalid: [
      'CatalogSource',
      'catalogsource.operators.coreos.com',
      spec?.sourceNamespace,
      spec?.source,
    ],
    InstallPlanFailed: plan,
    InstallPlanPending: plan,
    InstallPlanMissing: plan,
    BundleUnpackFailed: plan,
    InstalledCSVFailed: [...csv, failed ?? status?.currentCSV],
    InstalledCSVMissing: [...csv, status?.installedCSV],
  };
  const other = others[type];
  const about = other && isName(other[2]) && isName(other[3]) ? other : itself;
  const [kind, resource, inNamespace, name] = about;
  return {
    by: `${kind} ${inNamespace}/${name}`,
    step: { to: 'To see why', command: `kubectl describe ${resource} -n ${inNamespace} ${name}` },
  };
}

/** Returns the blockers of an update that a gate holds, one for each hold. */
function heldUpdate(
  sub: Subscription,
  c: Condition,
  n: Namespace,
  plan: InstallPlan | undefined
): Blocker[] {
  const holds = holdsOf(sub, n, plan);
  if (!holds.some(h => h.reason === c.reason)) {
    return [reportedHold(sub, c, n)];
  }
  return holds.map(h => ({
    impact: 'Held',
    by: `${h.by.kind} ${h.by.namespace}/${h.by.name}`,
    reason: h.reason,
    since: later(h.since, c.lastTransitionTime ?? undefined),
    cause: statement(h.target, h.cause, h.doubt),
    steps: [
      ...stepsTo(h.by, n),
      ...stepsReleasing(h),
      ...(h.override ? [{ to: toUpdateAnyway, command: command(h.override) }] : []),
    ],
  }));
}

/** Returns the later of two times; undefined is none. */
function later(a: string | undefined, b: string | undefined): string | undefined {
  return a && b ? (new Date(a) < new Date(b) ? b : a) : a ?? b;
}

/** Returns what holds the update of a Subscription, or of another one in its InstallPlan, according to the objects. */
function holdsOf(sub: Subscription, n: Namespace, plan: InstallPlan | undefined): Hold[] {
  const updates = waits(plan) ? updatesOf(plan, n) : [updateOf(sub, n)];
  return evaluatePlan(reported(sub) ? updates.map(asReported) : updates).holds;
}

/** Returns how to end the hold of an administrator. */
function stepsReleasing({ by: { kind, namespace, name }, override }: Hold): Step[] {
  if (kind !== 'OperatorCondition' || override) {
    return [];
  }
  return [
    { to: 'To release it', command: `kubectl operator-status release -n ${namespace} ${name}` },
  ];
}

/** Returns how to see what an object that holds an update waits for. */
function stepsTo({ kind, namespace, name }: Obj, n: Namespace): Step[] {
  switch (kind) {
    case 'Probe':
      return waitedFor(n.probes.get(name));
    case 'OperatorCondition':
      return [
        {
          to: 'To see why',
          command: `kubectl describe operatorcondition.operators.coreos.com -n ${namespace} ${name}`,
        },
      ];
  }
  return [];
}

const kinds: Record<string, string> = {
  ProbeNotUpgradeable: 'Probe',
  ProbeNotRead: 'Probe',
  ProbeConflict: 'Probe',
  OperatorConditionNotUpgradeable: 'OperatorCondition',
};

/** Returns the blocker of a hold that only a condition reports: operator-status also knows what is in no object. */
function reportedHold(sub: Subscription, c: Condition, n: Namespace): Blocker {
  const out: Blocker = {
    ...cause(c),
    impact: 'Held',
    by: `Subscription ${nameOf(sub)}`,
    steps: [],
  };
  const update = updateOf(sub, n);
  const kind = kinds[c.reason ?? ''];
  if (!update.running || !kind) {
    return out;
  }
  const { namespace = '', name } = update.running.metadata;
  out.by = `${kind} ${namespace}/${name}`;
  out.steps = stepsTo({ kind, namespace, name }, n);
  const override = overrideOf(update);
  const before = override && cutFrom(out.cause, override);
  if (before !== undefined) {
    out.cause = before;
    out.steps.push({ to: toUpdateAnyway, command: command(override!) });
  }
  return out;
}

/** Returns the command that shows the first custom resource that blocks a Probe. */
function waitedFor(probe: Probe | undefined): Step[] {
  const r = probe?.status?.probeResources?.find(
    r => r.blocking && isName(r.name) && isName(r.resource)
  );
  if (!r) {
    return [];
  }
  const where = isName(r.namespace) ? ` -n ${r.namespace}` : '';
  return [
    {
      to: 'To see the blocking resource',
      command: `kubectl get ${r.resource}${where} ${r.name} -o yaml`,
    },
  ];
}

function unapproved(c: Condition, plan: InstallPlan): Blocker {
  const installs = (plan.spec?.clusterServiceVersionNames ?? []).join(', ');
  return {
    ...cause(c),
    since:
      c.lastTransitionTime ?? (waits(plan) ? plan.metadata.creationTimestamp : null) ?? undefined,
    impact: 'Held',
    by: `InstallPlan ${nameOf(plan)}`,
    cause: `InstallPlan ${nameOf(
      plan
    )}, which installs ${installs}, is waiting for a user to approve it`,
    steps: [{ to: 'To approve it', command: howToApprove(plan) }],
  };
}

/** Returns the blocker of a ClusterServiceVersion that has Failed. */
export function failedCSV(csv: ClusterServiceVersion): Blocker | undefined {
  const status = csv.status;
  if (status?.phase !== 'Failed') {
    return undefined;
  }
  return {
    impact: 'Broken',
    by: `ClusterServiceVersion ${nameOf(csv)}`,
    reason: status.reason ?? '',
    since: status.lastTransitionTime ?? undefined,
    cause: status.message ?? '',
    steps: [
      {
        to: 'To see why',
        command: `kubectl describe clusterserviceversion.operators.coreos.com -n ${csv.metadata.namespace} ${csv.metadata.name}`,
      },
    ],
  };
}

/** Returns the blocker of a Probe that cannot read its custom resources, so that no hold can be relied on. */
export function blindProbe(probe: Probe | undefined): Blocker | undefined {
  const c = find(probe?.status?.conditions, 'Synced');
  const blind = [
    'Forbidden',
    'NoIdentity',
    'ReadFailed',
    'Stale',
    'InvalidExpression',
    'FieldNotFound',
    'TooManyWatches',
    'TooManyConditions',
  ];
  if (!probe || c?.status !== 'False' || !blind.includes(c.reason ?? '')) {
    return undefined;
  }
  return {
    ...cause(c),
    impact: 'Broken',
    by: `Probe ${nameOf(probe)}`,
    steps: [
      {
        to: 'To see why',
        command: `kubectl describe probe.operators.coreos.com -n ${probe.metadata.namespace} ${probe.metadata.name}`,
      },
    ],
  };
}
