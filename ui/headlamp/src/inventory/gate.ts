// The counterpart of internal/gate: whether an update may proceed. The browser does not read the
// CustomResourceDefinitions, so that no operator counts as opted in without a Probe.

import {
  allowUpgrade,
  ClusterServiceVersion,
  Condition,
  find,
  gateReasons,
  Metadata,
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

/** An object in messages. */
export interface Obj {
  kind: string;
  namespace: string;
  name: string;
}

/** How an administrator lets a held update proceed: by a Subscription's annotation, or by an OperatorCondition. */
export interface Override {
  object: Obj;
  /** The version that the annotation allows, and whether the Subscription has it for another one. */
  target: string;
  replaces: boolean;
}

/** One cause for which an update has to wait. */
export interface Hold {
  reason: string;
  by: Obj;
  /** Since when it is reported; undefined if that is not known. */
  since?: string;
  /** The version that is not installed. */
  target: string;
  cause: string;
  /** A sentence about why the cause may be out of date, or empty. */
  doubt: string;
  /** Undefined for an administrator's own hold. */
  override?: Override;
}

export interface Decision {
  held: boolean;
  /** All causes. Without held, they are overridden. */
  holds: Hold[];
  reason: string;
  message: string;
  overridden: boolean;
  /** Whether the InstallPlan was approved, and OLM holds the update nevertheless. */
  approved: boolean;
}

export const proceeds: Decision = {
  held: false,
  holds: [],
  reason: '',
  message: '',
  overridden: false,
  approved: false,
};

/** The part of a hold that the object which reports it decides. */
type Objection = Pick<Hold, 'reason' | 'by' | 'since' | 'cause'>;

const noReader = 'none';

export function evaluate(i: Inputs): Decision {
  const { running, target, operatorCondition } = i;
  if (!running || !target || target === running.metadata.name) {
    return proceeds;
  }
  const override = find(operatorCondition?.spec?.overrides, 'Upgradeable');
  if (operatorCondition && override && override.status !== 'True') {
    return held([
      {
        reason: 'OperatorConditionNotUpgradeable',
        by: objectOf('OperatorCondition', operatorCondition),
        since: override.lastTransitionTime ?? undefined,
        target,
        cause:
          `spec.overrides of OperatorCondition ${nameOf(operatorCondition)} ` +
          `sets Upgradeable=${override.status}${quote(override.message)}. ` +
          'The update continues when the override is removed or set to True',
        doubt: '',
      },
    ]);
  }
  const holds = [probeObjection(i), operatorObjection(operatorCondition)]
    .filter((o): o is Objection => !!o)
    .map(o => ({ ...o, target, doubt: doubt(running), override: overrideOf(i) }));
  if (holds.length === 0) {
    return proceeds;
  }
  const by = allowedBy(i, override);
  if (by) {
    return {
      ...proceeds,
      holds,
      reason: 'Overridden',
      overridden: true,
      message: `The update to ${target} is allowed by ${by}. Without it, the update would be held: ${causes(
        holds
      )}`,
    };
  }
  return held(holds);
}

/** Returns the decision that an update has to wait, for holds that have the same override. */
function held(holds: Hold[]): Decision {
  const [{ reason, target, doubt, override }] = holds;
  return {
    ...proceeds,
    held: true,
    holds,
    reason,
    message: statement(target, causes(holds), doubt) + (override ? clause(override) : ''),
  };
}

/** Returns a sentence about why an update is held. */
export function statement(target: string, cause: string, doubt: string): string {
  return `The update to ${target} is held: ${cause}${doubt && `. ${doubt}`}`;
}

function causes(holds: Hold[]): string {
  return holds.map(h => h.cause).join('; ');
}

/** Returns the decision about all updates of an InstallPlan, which proceeds as a whole or not at all. */
export function evaluatePlan(updates: Inputs[]): Decision {
  const all = updates.map(evaluate);
  const held = all.filter(d => d.held);
  return together(held.length > 0 ? held : all.filter(d => d.overridden));
}

/** Combines decisions that are all held, or all overridden. */
function together(all: Decision[]): Decision {
  if (all.length === 0) {
    return proceeds;
  }
  const most = 5;
  const stated = all.slice(0, most).map(d => d.message);
  if (all.length > most) {
    stated.push(`and ${all.length - most} more`);
  }
  return { ...all[0], holds: all.flatMap(d => d.holds), message: stated.join('. ') };
}

function objectOf(kind: string, o: { metadata: Metadata }): Obj {
  return { kind, namespace: o.metadata.namespace ?? '', name: o.metadata.name };
}

function probeObjection(i: Inputs): Objection | undefined {
  const probe = i.probe;
  if (!probe) {
    return undefined;
  }
  const name = nameOf(probe);
  const by = objectOf('Probe', probe);
  const upgradeable = find(probe.status?.conditions, 'Upgradeable');
  if (upgradeable?.status === 'False') {
    return {
      reason: 'ProbeNotUpgradeable',
      by,
      since: upgradeable.lastTransitionTime ?? undefined,
      cause: `Probe ${name} reports Upgradeable=False${quote(upgradeable.message)}`,
    };
  }
  if (!probe.spec || probe.spec.manager === 'operator' || isCurrent(i, probe, upgradeable)) {
    return undefined;
  }
  const notRead = (cause: string) => ({ reason: 'ProbeNotRead', by, cause });
  if (i.reader === noReader && isIsolated(probe)) {
    const pod = find(probe.status?.conditions, 'PodReady');
    const problem = pod?.status === 'False' ? quote(pod.message) : '';
    return notRead(
      `the pod that reads the custom resources of Probe ${name} is not ready${problem}`
    );
  }
  const synced = find(probe.status?.conditions, 'Synced');
  return notRead(
    `waiting to read the custom resources of Probe ${name}` +
      (synced?.status === 'False' ? quote(synced.message) : '')
  );
}

function isCurrent(i: Inputs, probe: Probe, upgradeable: Condition | undefined): boolean {
  const synced = find(probe.status?.conditions, 'Synced');
  return (
    synced !== undefined &&
    synced.status !== 'Unknown' &&
    synced.reason !== 'Stale' &&
    upgradeable?.status === 'True' &&
    (probe.status?.observedGeneration ?? 0) >= (probe.metadata.generation ?? 0) &&
    (probe.status?.reader ?? '') === i.reader &&
    (probe.status?.observedTargets ?? '') === i.targets
  );
}

function operatorObjection(oc: OperatorCondition | undefined): Objection | undefined {
  const c = find(oc?.spec?.conditions, 'Upgradeable');
  if (!oc || c?.status !== 'False' || gateReasons.includes(c.reason ?? '')) {
    return undefined;
  }
  return {
    reason: 'OperatorConditionNotUpgradeable',
    by: objectOf('OperatorCondition', oc),
    since: c.lastTransitionTime ?? undefined,
    cause: `OperatorCondition ${nameOf(oc)} reports Upgradeable=False${quote(c.message)}`,
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
  return `${running.metadata.name} is ${phase || 'new'}, so its conditions may be stale`;
}

/** Returns how an administrator can override what holds the update. */
export function overrideOf(i: Inputs): Override | undefined {
  const { subscription, running, target } = i;
  if (subscription && !beyondAnnotation(i)) {
    const replaces = subscription.metadata.annotations?.[allowUpgrade] !== undefined;
    return { object: objectOf('Subscription', subscription), target, replaces };
  }
  return running && { object: objectOf('OperatorCondition', running), target: '', replaces: false };
}

/** Returns the end of a message. */
function clause(o: Override): string {
  const { kind, namespace, name } = o.object;
  const how =
    kind === 'Subscription'
      ? command(o)
      : `set Upgradeable=True in spec.overrides of OperatorCondition ${namespace}/${name}`;
  return `. To update anyway: ${how}`;
}

/** Returns the command for a shell. */
export function command({ object, target, replaces }: Override): string {
  const { kind, namespace, name } = object;
  if (kind === 'Subscription') {
    const overwrite = replaces ? ' --overwrite' : '';
    return `kubectl annotate subscription.operators.coreos.com -n ${namespace} ${name} ${allowUpgrade}=${target}${overwrite}`;
  }
  return (
    `kubectl patch operatorcondition.operators.coreos.com -n ${namespace} ${name} --type=merge -p ` +
    `'{"spec":{"overrides":[{"type":"Upgradeable","status":"True","reason":"Approved","message":"Update anyway"}]}}'`
  );
}

/** Returns a message before where it states the override; undefined if it does not. */
export function cutFrom(message: string, o: Override): string | undefined {
  const at = message.indexOf(clause(o));
  return at < 0 ? undefined : message.slice(0, at);
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

/** Has the status of a Probe count for the reader and the target namespaces that it names. */
export function asReported(i: Inputs): Inputs {
  const status = i.probe?.status;
  return i.probe
    ? {
        ...i,
        reader: reportedReader(i.probe, status?.reader ?? ''),
        targets: status?.observedTargets ?? '',
      }
    : i;
}
