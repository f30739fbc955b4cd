// The counterpart of internal/status/subscription: those conditions that OLM does not have.

import { CSVs } from './csvchain';
import { Decision } from './gate';
import {
  ClusterServiceVersion,
  Condition,
  InstallPlan,
  nameOf,
  quote,
  Status,
  statusOf,
  Subscription,
} from './objects';

export interface Inputs {
  subscription: Subscription;
  /** The running version, or the installed one if that was deleted. OLM's may not run. */
  installedCSV: string;
  /** The state of the catalog that the spec names; undefined if it does not exist. */
  catalog?: { read: boolean; health: Status; reason: string; message: string };
  /** What OLM resolved; undefined until it has. */
  resolution?: { newest?: string; problem?: { reason: string; message: string } };
  plan?: InstallPlan;
  csvs: CSVs;
  gate: Decision;
}

interface Computed {
  currentCSV: string;
  installedCSV: string;
  conditions: Map<string, Condition>;
}

/** Returns the computed conditions by type. One that is absent is Unknown. */
export function compute(i: Inputs): Map<string, Condition> {
  const out: Computed = { ...csvNames(i), conditions: new Map() };
  for (const concern of [
    catalogSourceInvalid,
    packageChannelInvalid,
    awaitingManualApproval,
    installedCSVMissing,
    installedCSVFailed,
    replacementAvailable,
    upgradeHeld, // from here on they depend on those above
    upToDate,
  ]) {
    const c = concern(i, out);
    if (c) {
      out.conditions.set(c.type, c);
    }
  }
  return out.conditions;
}

function csvNames(i: Inputs): { currentCSV: string; installedCSV: string } {
  const currentCSV = i.subscription.status?.currentCSV ?? '';
  const succeeded = i.csvs.get(currentCSV)?.status?.phase === 'Succeeded';
  const installedCSV = succeeded ? currentCSV : i.installedCSV;
  return { currentCSV: currentCSV || installedCSV, installedCSV };
}

function catalogSourceInvalid(i: Inputs): Condition | undefined {
  const type = 'CatalogSourceInvalid';
  const spec = i.subscription.spec;
  const name = `${spec?.sourceNamespace ?? ''}/${spec?.source ?? ''}`;
  const catalog = i.catalog;
  if (!catalog) {
    return {
      type,
      status: 'True',
      reason: 'CatalogSourceNotFound',
      message: `CatalogSource ${name} not found: create it, or correct spec.source and spec.sourceNamespace`,
    };
  }
  if (catalog.read) {
    return { type, status: 'False', reason: 'CatalogSourceValid' };
  }
  if (catalog.health !== 'False') {
    return undefined; // it is about to be read
  }
  return {
    type,
    status: 'True',
    reason: 'CatalogSourceUnreadable',
    message: `CatalogSource ${name} cannot be read: ${catalog.reason}${quote(catalog.message)}`,
  };
}

/** The reasons of problems that occur only once the package and its channel have been found. */
const foundFirst = [
  'ConstraintsNotSatisfiable',
  'UnsupportedConstraint',
  'CSVNotInChannel',
  'ReplacesCycle',
  'BundleInvalid',
  'TooLarge',
  'ImagePullFailed',
  'Unreachable',
];

function packageChannelInvalid(i: Inputs): Condition | undefined {
  const type = 'PackageChannelInvalid';
  const problem = i.resolution?.problem;
  if (
    problem &&
    ['PackageNotFound', 'PackageInvalid', 'ChannelNotFound'].includes(problem.reason)
  ) {
    return { type, status: 'True', ...problem };
  }
  if (!i.resolution || (problem && !i.resolution.newest && !foundFirst.includes(problem.reason))) {
    return undefined;
  }
  return { type, status: 'False', reason: 'PackageChannelValid' };
}

function awaitingManualApproval(i: Inputs, out: Computed): Condition | undefined {
  const type = 'InstallPlanAwaitingManualApproval';
  const plan = planOf(i, out.currentCSV);
  if (
    plan &&
    plan.spec?.approval === 'Manual' &&
    !plan.spec.approved &&
    plan.status?.phase === 'RequiresApproval'
  ) {
    return {
      type,
      status: 'True',
      reason: 'RequiresApproval',
      message: `InstallPlan ${nameOf(plan)} for ${
        out.currentCSV
      } is waiting for a user to approve it: ${howToApprove(plan)}`,
    };
  }
  return plan || arrived(out)
    ? { type, status: 'False', reason: 'NotAwaitingApproval' }
    : undefined;
}

function installedCSVMissing(i: Inputs, out: Computed): Condition | undefined {
  const type = 'InstalledCSVMissing';
  if (!out.installedCSV) {
    return undefined;
  }
  if (i.csvs.has(out.installedCSV)) {
    return { type, status: 'False', reason: 'CSVPresent' };
  }
  const namespace = i.subscription.metadata.namespace;
  return {
    type,
    status: 'True',
    reason: 'CSVMissing',
    message:
      `ClusterServiceVersion ${namespace}/${out.installedCSV} was installed and no longer exists: ` +
      'the operator is missing until it is installed again',
  };
}

function installedCSVFailed(i: Inputs, out: Computed): Condition | undefined {
  const type = 'InstalledCSVFailed';
  const csvs = [out.currentCSV, out.installedCSV]
    .map(name => i.csvs.get(name))
    .filter((csv): csv is ClusterServiceVersion => !!csv);
  if (csvs.length === 0) {
    return undefined;
  }
  const failed = csvs.find(csv => csv.status?.phase === 'Failed');
  if (!failed) {
    return { type, status: 'False', reason: 'CSVNotFailed' };
  }
  const reason = failed.status?.reason ? ` (${failed.status.reason})` : '';
  return {
    type,
    status: 'True',
    reason: 'CSVFailed',
    message: `ClusterServiceVersion ${nameOf(failed)} is Failed${reason}${quote(
      failed.status?.message
    )}`,
  };
}

function replacementAvailable(i: Inputs, out: Computed): Condition | undefined {
  const type = 'InstalledCSVReplacementAvailable';
  if (!out.installedCSV) {
    return undefined;
  }
  if (out.currentCSV !== out.installedCSV) {
    return { type, status: 'True', reason: 'ReplacementAvailable' };
  }
  const r = i.resolution;
  if (!r || (r.problem && (r.newest ?? '') !== out.installedCSV)) {
    return undefined;
  }
  return { type, status: 'False', reason: 'NoReplacementAvailable' };
}

function upgradeHeld(i: Inputs, out: Computed): Condition {
  const type = 'UpgradeHeld';
  const waiting = isIn(out, 'InstalledCSVReplacementAvailable', 'True');
  const approved = planOf(i, out.currentCSV)?.spec?.approved && !arrived(out);
  const { reason, message } = i.gate;
  if (waiting && i.gate.overridden) {
    return { type, status: 'False', reason, message };
  }
  if (waiting && i.gate.held && (i.gate.approved || !approved)) {
    return { type, status: 'True', reason, message };
  }
  return { type, status: 'False', reason: 'NotHeld' };
}

function upToDate(i: Inputs, out: Computed): Condition {
  const plan = planOf(i, out.installedCSV);
  const yes =
    arrived(out) &&
    i.resolution?.newest === out.installedCSV &&
    i.csvs.get(out.installedCSV)?.status?.phase === 'Succeeded' &&
    !i.resolution.problem &&
    (!plan || plan.status?.phase === 'Complete') &&
    isIn(out, 'CatalogSourceInvalid', 'False') &&
    isIn(out, 'InstalledCSVReplacementAvailable', 'False') &&
    isIn(out, 'UpgradeHeld', 'False');
  return { type: 'UpToDate', status: yes ? 'True' : 'False' };
}

function isIn(out: Computed, type: string, status: Status): boolean {
  return statusOf([...out.conditions.values()], type) === status;
}

function arrived(out: Computed): boolean {
  return out.currentCSV !== '' && out.currentCSV === out.installedCSV;
}

function planOf(i: Inputs, csv: string): InstallPlan | undefined {
  return csv && i.plan?.spec?.clusterServiceVersionNames?.includes(csv) ? i.plan : undefined;
}

/** Returns the command with which a user approves an InstallPlan. */
export function howToApprove(plan: InstallPlan): string {
  const { namespace, name } = plan.metadata;
  return `kubectl patch installplan.operators.coreos.com -n ${namespace} ${name} --type=merge -p '{"spec":{"approved":true}}'`;
}
