// The counterpart of internal/installer/olmv0/bridge: what operator-status decides and reports beside OLM.

import { begun, CSVs, running } from './csvchain';
import * as gate from './gate';
import {
  CatalogSource,
  Condition,
  find,
  InstallPlan,
  isGated,
  isManual,
  nameOf,
  OperatorCondition,
  Probe,
  Status,
  statusOf,
  Subscription,
} from './objects';
import { compute, howToApprove } from './subscription';

/** What one namespace has, by name. */
export interface Namespace {
  subscriptions: Subscription[];
  csvs: CSVs;
  probes: Map<string, Probe>;
  operatorConditions: Map<string, OperatorCondition>;
  plans: Map<string, InstallPlan>;
  /** As in Cluster. */
  unread: string[];
}

/** Returns those of some kinds that could not be read. */
export function unreadOf(n: Namespace, ...kinds: string[]): string[] {
  return kinds.filter(k => n.unread.includes(k));
}

/** The decision of the approval gate about an InstallPlan. */
interface Verdict {
  /** Whether the approval is left to operator-status. */
  ours: boolean;
  gate: gate.Decision;
  /** The Subscriptions in the plan whose updates only a user may approve. */
  missing: string[];
}

export function judge(plan: InstallPlan, n: Namespace): Verdict {
  return {
    ours: delegated(plan, n),
    gate: gate.evaluatePlan(updatesOf(plan, n)),
    missing: n.subscriptions
      .filter(sub => installs(plan, sub))
      .filter(sub => isManual(sub) && !isGated(sub))
      .map(nameOf)
      .sort(),
  };
}

/** Returns the inputs of the decision about each Subscription that a plan is for. */
export function updatesOf(plan: InstallPlan, n: Namespace): gate.Inputs[] {
  return n.subscriptions.filter(sub => installs(plan, sub)).map(sub => updateOf(sub, n));
}

/** Reports whether a Subscription that refers to the plan leaves its approval to operator-status. */
function delegated(plan: InstallPlan, n: Namespace): boolean {
  let asks = false;
  let byGate = false;
  let byPerson = false;
  for (const sub of n.subscriptions) {
    const refers = sub.status?.installPlanRef?.name === plan.metadata.name;
    byGate = byGate || isGated(sub);
    byPerson = byPerson || (isManual(sub) && !isGated(sub));
    if (isGated(sub) && refers) {
      return current(plan, n);
    }
    asks = asks || refers;
  }
  return asks && byGate && !byPerson && current(plan, n);
}

/** Reports whether every version in a plan is the target of a Subscription, or the plan brings one. */
function current(plan: InstallPlan, n: Namespace): boolean {
  return (plan.spec?.clusterServiceVersionNames ?? []).every(
    name =>
      n.subscriptions.some(sub => sub.status?.currentCSV === name) ||
      plan.status?.plan?.some(s => s.resolving === name && s.resource?.kind === 'Subscription')
  );
}

function installs(plan: InstallPlan, sub: Subscription): boolean {
  return (
    sub.status?.installPlanRef?.name === plan.metadata.name ||
    !!plan.spec?.clusterServiceVersionNames?.includes(sub.status?.currentCSV ?? '')
  );
}

export function updateOf(sub: Subscription, n: Namespace): gate.Inputs {
  const out: gate.Inputs = {
    subscription: sub,
    target: sub.status?.currentCSV ?? '',
    besideOLM: true,
    reader: '',
    targets: '',
  };
  const csv = running(n.csvs, sub.status?.installedCSV);
  if (!csv || !begun(csv)) {
    return out;
  }
  const probe = n.probes.get(csv.metadata.name);
  return {
    ...out,
    running: csv,
    probe,
    operatorCondition: n.operatorConditions.get(csv.metadata.name),
    reader: gate.reportedReader(probe, ''),
  };
}

/** Returns the decision about an approved update that OLM holds because of the OperatorCondition. */
export function heldByOLM(sub: Subscription, n: Namespace): gate.Decision {
  const target = n.csvs.get(sub.status?.currentCSV ?? '');
  if (
    target?.status?.phase !== 'Pending' ||
    target.status.reason !== 'OperatorConditionNotUpgradeable'
  ) {
    return gate.proceeds;
  }
  let out = gate.evaluate(updateOf(sub, n));
  if (!out.held) {
    const message = (target.status.message ?? '').replace(/[. ]+$/, '');
    out = {
      ...gate.proceeds,
      held: true,
      reason: 'OperatorConditionNotUpgradeable',
      message: `The update to ${target.metadata.name} is held: ${message}`,
    };
  }
  const plan = `${sub.metadata.namespace}/${sub.status?.installPlanRef?.name ?? 'unknown'}`;
  return {
    ...out,
    approved: true,
    message:
      out.message +
      `. The OperatorCondition gate acts after InstallPlan ${plan}: its CustomResourceDefinitions are already installed, ` +
      'and OLM installs or updates nothing else in the namespace meanwhile',
  };
}

/** Reports whether operator-status has written its conditions on a Subscription. It may read everything. */
export function reported(sub: Subscription): boolean {
  return statusOf(sub.status?.conditions, 'UpToDate') !== 'Unknown';
}

/** Reports whether a plan requires approval and has not been approved. */
export function waits(plan: InstallPlan | undefined): plan is InstallPlan {
  return (
    !!plan &&
    !plan.metadata.deletionTimestamp &&
    plan.status?.phase === 'RequiresApproval' &&
    !plan.spec?.approved
  );
}

/** Reports whether a plan waits for approval although the version that it would install for a Subscription runs. */
export function superseded(plan: InstallPlan | undefined, sub: Subscription, csvs: CSVs): boolean {
  const target = sub.status?.currentCSV ?? '';
  return (
    waits(plan) &&
    csvs.get(target)?.status?.phase === 'Succeeded' &&
    !!plan.spec?.clusterServiceVersionNames?.includes(target)
  );
}

/** The condition types that OLM does not have. */
const ownTypes = [
  'UpToDate',
  'UpgradeHeld',
  'InstallPlanAwaitingManualApproval',
  'InstalledCSVReplacementAvailable',
  'InstalledCSVFailed',
  'InstalledCSVMissing',
  'CatalogSourceInvalid',
  'PackageChannelInvalid',
];

/** Returns the conditions of OLM's Subscription with ours, as operator-status would write them. */
export function conditions(
  sub: Subscription,
  n: Namespace,
  plan: InstallPlan | undefined,
  catalog: CatalogSource | undefined
): Condition[] {
  const verdict = waits(plan) ? judge(plan, n) : { ours: false, gate: gate.proceeds, missing: [] };
  const held = waits(plan) ? gate.proceeds : heldByOLM(sub, n);
  const byGate = plan && verdict.missing.length === 0 && (verdict.ours || isGated(sub));
  const ours = compute({
    subscription: sub,
    installedCSV: installedCSV(sub, n.csvs),
    catalog: catalog && catalogState(catalog, sub),
    resolution: resolution(sub, n.csvs),
    plan: byGate ? { ...plan, spec: { ...plan.spec, approval: 'Automatic' } } : plan,
    csvs: n.csvs,
    gate: verdict.ours ? verdict.gate : held,
  });
  const own = (type: string) => ours.get(type)?.status;
  const asked = isManual(sub) && !isGated(sub);
  if (
    plan &&
    !asked &&
    verdict.ours &&
    verdict.missing.length > 0 &&
    own('UpgradeHeld') !== 'True'
  ) {
    ours.set('UpgradeHeld', {
      type: 'UpgradeHeld',
      status: 'True',
      reason: 'ApprovalMissing',
      message: missing(plan, verdict.missing),
    });
    ours.set('UpToDate', { type: 'UpToDate', status: own('UpToDate') ?? 'Unknown' });
  }
  const before = sub.status?.conditions ?? [];
  return [
    ...before.filter(c => !ownTypes.includes(c.type)),
    ...[...ours.values()].map(c => ({ ...c, lastTransitionTime: since(c, before) })),
  ];
}

/** Returns since when a condition has had its status; undefined if that is not known. */
function since(c: Condition, before: Condition[]): string | undefined {
  const was = find(before, c.type);
  return (was?.status === c.status && was.lastTransitionTime) || undefined;
}

function installedCSV(sub: Subscription, csvs: CSVs): string {
  const installed = sub.status?.installedCSV ?? '';
  const csv = running(csvs, installed);
  if (!csv) {
    return installed;
  }
  return begun(csv) ? csv.metadata.name : '';
}

function resolution(sub: Subscription, csvs: CSVs) {
  const status = sub.status;
  const failed = find(status?.conditions, 'ResolutionFailed');
  if (isUpdating(sub, failed, csvs)) {
    return { newest: status?.currentCSV };
  }
  if (failed?.status === 'True') {
    return { problem: { reason: reasonOf(sub, failed), message: failed.message ?? '' } };
  }
  if (!status?.currentCSV) {
    return undefined;
  }
  const unpack = find(status.conditions, 'BundleUnpackFailed');
  if (unpack?.status === 'True') {
    return { problem: { reason: 'BundleInvalid', message: unpack.message ?? '' } };
  }
  return statusOf(status.conditions, 'BundleUnpacking') === 'True'
    ? {}
    : { newest: status.currentCSV };
}

/** Returns why OLM cannot resolve this Subscription. OLM sets one message on all of a namespace. */
function reasonOf(sub: Subscription, failed: Condition): string {
  const { spec, status } = sub;
  const reason = failed.reason ?? '';
  if (!spec) {
    return reason;
  }
  const has = (phrase: string) => containsPhrase(failed.message ?? '', phrase);
  const by = `in the catalog referenced by subscription ${sub.metadata.name}`;
  const name = spec.name ?? '';
  const channel = spec.channel ?? '';
  if (
    has(
      `no operators found from catalog ${spec.source ?? ''} in namespace ${
        spec.sourceNamespace ?? ''
      } ` + `referenced by subscription ${sub.metadata.name}`
    )
  ) {
    return 'CatalogSourceUnreadable';
  }
  if (has(`no operators found in package ${name} ${by}`)) {
    return 'PackageNotFound';
  }
  if (has(`no operators found in channel ${channel} of package ${name} ${by}`)) {
    return 'ChannelNotFound';
  }
  if (
    has(
      `no operators found with name ${
        spec.startingCSV ?? ''
      } in channel ${channel} of package ${name} ${by}`
    )
  ) {
    return 'CSVNotInChannel';
  }
  return !status?.currentCSV && !has(`subscription ${sub.metadata.name}`)
    ? 'NewestNotKnown'
    : reason;
}

/** Reports whether a message contains a phrase, and not merely as the beginning of a longer name. */
function containsPhrase(message: string, phrase: string): boolean {
  return message
    .split(phrase)
    .slice(1)
    .some(after => after === '' || ', ;]\n'.includes(after[0]));
}

/** Translates the health of a catalog. One from which OLM has resolved something has been read. */
function catalogState(source: CatalogSource, sub: Subscription) {
  const state = source.status?.connectionState;
  const observed = state?.lastObservedState ?? '';
  let health: Status = 'Unknown';
  let reason = 'Connecting';
  let message = '';
  if (observed === 'READY') {
    [health, reason] = ['True', 'CatalogRead'];
  } else if (observed === 'TRANSIENT_FAILURE' || observed === 'SHUTDOWN') {
    [health, reason] = ['False', 'Unreachable'];
    message = `OLM's connection to ${state?.address || 'it'} is ${observed}`;
  }
  return { read: health === 'True' || !!sub.status?.currentCSV, health, reason, message };
}

/**
 * Reports whether a failed resolution, of a Subscription or of another in its namespace, is due to the update of the Subscription, which
 * has begun and not ended.
 */
export function isUpdating(sub: Subscription, failed: Condition | undefined, csvs: CSVs): boolean {
  const current = sub.status?.currentCSV;
  const csv = current && csvs.get(current);
  if (failed?.status !== 'True' || !csv || csv.status?.phase === 'Succeeded') {
    return false;
  }
  const twice =
    /@existing\/[^/\s]*\/\/(\S+) and @existing\/[^/\s]*\/\/(\S+) originate from package /g;
  return [...(failed.message ?? '').matchAll(twice)].some(
    ([, one, other]) => one === current || other === current
  );
}

/** Returns a deleted version because of which the resolution of a namespace failed; "" if there is none. */
export function outdatedFailure(sub: Subscription, csvs: CSVs): string {
  const failed = find(sub.status?.conditions, 'ResolutionFailed');
  if (failed?.status !== 'True') {
    return '';
  }
  const existed = /clusterserviceversion (\S+) exists and is not referenced by a subscription/g;
  for (const [, name] of (failed.message ?? '').matchAll(existed)) {
    if (!csvs.has(name)) {
      return name;
    }
  }
  return '';
}

function missing(plan: InstallPlan, subs: string[]): string {
  const most = 5;
  const names = [
    ...subs.slice(0, most),
    ...(subs.length > most ? [`and ${subs.length - most} more`] : []),
  ].join(', ');
  return (
    `InstallPlan ${nameOf(
      plan
    )} is also for Subscription ${names}, whose approval is Manual, and OLM applies it ` +
    `only as a whole: a user has to approve it with ${howToApprove(plan)}`
  );
}
