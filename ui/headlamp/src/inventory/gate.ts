// The counterpart of internal/gate: whether an update may proceed. The browser does not read the
// CustomResourceDefinitions, so that no operator counts as opted in without a Probe.

import {
  allowUpgrade,
  ClusterServiceVersion,
  Condition,
  find,
  gateReasons,
  nameOf,
  OperatorCondition,
  Probe,
  quote,
  Subscription,
} from './objects';

export interface Inputs {
  subscription?: Subscription;
  /** The version to be replaced; undefined for a first install, which is never held. */
  running?: ClusterServiceVersion;
  target: string;
  probe?: Probe;
  operatorCondition?: OperatorCondition;
  reader: string;
  targets: string;
  besideOLM: boolean;
}

export interface Decision {
  held: boolean;
  reason: string;
  message: string;
  overridden: boolean;
  /** Whether the InstallPlan was approved, and OLM holds the update nevertheless. */
  approved: boolean;
}

export const proceeds: Decision = {
  held: false,
  reason: '',
  message: '',
  overridden: false,
  approved: false,
};

interface Problem {
  reason: string;
  message: string;
}

const noReader = 'none';

export function evaluate(i: Inputs): Decision {
  const { running, target, operatorCondition } = i;
  if (!running || !target || target === running.metadata.name) {
    return proceeds;
  }
  const override = find(operatorCondition?.spec?.overrides, 'Upgradeable');
  if (operatorCondition && override && override.status !== 'True') {
    return {
      ...proceeds,
      held: true,
      reason: 'OperatorConditionNotUpgradeable',
      message:
        `The update to ${target} is held: spec.overrides of OperatorCondition ${nameOf(
          operatorCondition
        )} ` +
        `sets Upgradeable=${override.status}${quote(
          override.message
        )}. It continues when that is removed or set to True`,
    };
  }
  const objections = [probeObjection(i), operatorObjection(operatorCondition)].filter(
    (p): p is Problem => !!p
  );
  if (objections.length === 0) {
    return proceeds;
  }
  const why = objections.map(p => p.message).join('; ');
  const by = allowedBy(i, override);
  if (by) {
    return {
      ...proceeds,
      reason: 'Overridden',
      overridden: true,
      message: `The update to ${target} goes on, since ${by} allows it. It would be held: ${why}`,
    };
  }
  return {
    ...proceeds,
    held: true,
    reason: objections[0].reason,
    message: `The update to ${target} is held: ${why}. ${doubt(running)}To update anyway: ${command(
      i
    )}`,
  };
}

/** Returns the first decision that holds, otherwise the last that is overridden. */
export function evaluatePlan(updates: Inputs[]): Decision {
  let out = proceeds;
  for (const update of updates) {
    const d = evaluate(update);
    if (d.held) {
      return d;
    }
    if (d.overridden) {
      out = d;
    }
  }
  return out;
}

function probeObjection(i: Inputs): Problem | undefined {
  const probe = i.probe;
  if (!probe) {
    return undefined;
  }
  const name = nameOf(probe);
  const upgradeable = find(probe.status?.conditions, 'Upgradeable');
  if (upgradeable?.status === 'False') {
    return {
      reason: 'ProbeNotUpgradeable',
      message: `Probe ${name} reports Upgradeable=False${quote(upgradeable.message)}`,
    };
  }
  if (!probe.spec || probe.spec.manager === 'operator' || isCurrent(i, probe, upgradeable)) {
    return undefined;
  }
  const notRead = (message: string) => ({ reason: 'ProbeNotRead', message });
  if (i.reader === noReader && isIsolated(probe)) {
    const pod = find(probe.status?.conditions, 'PodReady');
    const problem = pod?.status === 'False' ? quote(pod.message) : '';
    return notRead(`the pod that reads what Probe ${name} watches is not ready${problem}`);
  }
  const synced = find(probe.status?.conditions, 'Synced');
  return notRead(
    `waiting to read what Probe ${name} watches` +
      (synced?.status === 'False' ? quote(synced.message) : '')
  );
}

function isCurrent(i: Inputs, probe: Probe, upgradeable: Condition | undefined): boolean {
  const synced = find(probe.status?.conditions, 'Synced');
  return (
    synced !== undefined &&
    synced.status !== 'Unknown' &&
    upgradeable?.status === 'True' &&
    (probe.status?.observedGeneration ?? 0) >= (probe.metadata.generation ?? 0) &&
    (probe.status?.reader ?? '') === i.reader &&
    (probe.status?.observedTargets ?? '') === i.targets
  );
}

function operatorObjection(oc: OperatorCondition | undefined): Problem | undefined {
  const c = find(oc?.spec?.conditions, 'Upgradeable');
  if (!oc || c?.status !== 'False' || gateReasons.includes(c.reason ?? '')) {
    return undefined;
  }
  return {
    reason: 'OperatorConditionNotUpgradeable',
    message: `OperatorCondition ${nameOf(oc)} reports Upgradeable=False${quote(c.message)}`,
  };
}

function allowedBy(i: Inputs, override: Condition | undefined): string {
  if (i.operatorCondition && override?.status === 'True') {
    return `spec.overrides of OperatorCondition ${nameOf(i.operatorCondition)}`;
  }
  if (
    i.subscription &&
    i.subscription.metadata.annotations?.[allowUpgrade] === i.target &&
    !beyondAnnotation(i)
  ) {
    return `annotation ${allowUpgrade} of Subscription ${nameOf(i.subscription)}`;
  }
  return '';
}

/** Reports whether the annotation cannot end the hold, since OLM also holds the update. */
function beyondAnnotation(i: Inputs): boolean {
  return i.besideOLM && operatorObjection(i.operatorCondition) !== undefined;
}

function doubt(running: ClusterServiceVersion): string {
  const phase = running.status?.phase;
  if (phase === 'Succeeded' || phase === 'Replacing') {
    return '';
  }
  return `But ${running.metadata.name} itself is ${
    phase || 'new'
  }, so that this may be out of date. `;
}

function command(i: Inputs): string {
  const sub = i.subscription;
  if (!sub || beyondAnnotation(i)) {
    const of = i.running ? nameOf(i.running) : '';
    return `set Upgradeable=True in spec.overrides of OperatorCondition ${of}`;
  }
  const { namespace, name, annotations } = sub.metadata;
  return (
    `kubectl annotate subscription -n ${namespace} ${name} ${allowUpgrade}=${i.target}` +
    (annotations?.[allowUpgrade] !== undefined ? ' --overwrite' : '')
  );
}

function isIsolated(probe: Probe): boolean {
  return probe.spec?.isolation === 'Pod' && probe.spec.manager !== 'operator';
}

/** Returns the reader of a Probe for a report, on which no update depends. */
export function reportedReader(probe: Probe | undefined, shared: string): string {
  if (!probe || !isIsolated(probe)) {
    return shared;
  }
  const ready = find(probe.status?.conditions, 'PodReady')?.status === 'True';
  return ready ? probe.status?.reader ?? '' : noReader;
}
