// What happened to an operator, as far as its objects report it.

import { Cluster, Operator } from './inventory';
import { ClusterServiceVersion, find, InstallPlan } from './objects';

export interface Event {
  time: string;
  /** What happened, such as "foo.v1.0.0 Succeeded". */
  title: string;
  /** Why; empty if that is plain from the title. */
  detail: string;
  level: 'success' | 'warning' | 'error' | 'info';
}

/** Returns the events of an operator, the newest first. */
export function history(c: Cluster, op: Operator): Event[] {
  const csvs = chain(c, op);
  const names = new Set(csvs.flatMap(csv => [csv.metadata.name, csv.spec?.replaces ?? '']));
  const out = [
    ...csvs.flatMap(phases),
    ...((c.objects.InstallPlans ?? []) as InstallPlan[])
      .filter(p => p.metadata.namespace === op.metadata.namespace)
      .filter(p => p.spec?.clusterServiceVersionNames?.some(n => n === op.update || names.has(n)))
      .flatMap(steps),
    ...(op.blockers ?? [])
      .filter(b => b.since)
      .map(
        (b): Event => ({
          time: b.since as string,
          title: `${b.impact} by ${b.by}`,
          detail: b.cause,
          level: b.impact === 'Broken' ? 'error' : 'warning',
        })
      ),
  ];
  return out.sort((a, b) => Date.parse(b.time) - Date.parse(a.time));
}

/** Returns the existing ClusterServiceVersions of an operator: those that it runs, replaces or is updated to. */
function chain(c: Cluster, op: Operator): ClusterServiceVersion[] {
  const csvs = new Map(
    ((c.objects.ClusterServiceVersions ?? []) as ClusterServiceVersion[])
      .filter(csv => csv.metadata.namespace === op.metadata.namespace)
      .map(csv => [csv.metadata.name, csv])
  );
  const out = new Set<ClusterServiceVersion>();
  for (const start of [op.clusterServiceVersion, op.update]) {
    let csv = csvs.get(start ?? '');
    while (csv && !out.has(csv)) {
      out.add(csv);
      csv = csvs.get(csv.spec?.replaces ?? '');
    }
  }
  return [...out];
}

/** Returns the phases that a ClusterServiceVersion went through. OLM keeps them as conditions. */
function phases(csv: ClusterServiceVersion): Event[] {
  const { lastTransitions, conditions } = csv.status ?? {};
  const all = lastTransitions?.length ? lastTransitions : conditions?.filter(c => !c.type) ?? [];
  return all
    .filter(t => t.lastTransitionTime && t.phase)
    .map(t => ({
      time: t.lastTransitionTime as string,
      title: `${csv.metadata.name} ${t.phase}`,
      detail: t.phase === 'Succeeded' ? '' : t.message ?? '',
      level: t.phase === 'Succeeded' ? 'success' : t.phase === 'Failed' ? 'error' : 'info',
    }));
}

function steps(plan: InstallPlan): Event[] {
  const installs = (plan.spec?.clusterServiceVersionNames ?? []).join(', ');
  const title = `InstallPlan ${plan.metadata.name}`;
  const out: Event[] = [];
  if (plan.metadata.creationTimestamp) {
    out.push({
      time: plan.metadata.creationTimestamp,
      title: `${title} created`,
      detail: `It installs ${installs}`,
      level: 'info',
    });
  }
  const installed = find(plan.status?.conditions, 'Installed');
  if (installed?.lastTransitionTime && installed.status !== 'Unknown') {
    const complete = installed.status === 'True';
    if (complete || plan.status?.phase === 'Failed') {
      out.push({
        time: installed.lastTransitionTime,
        title: `${title} ${complete ? 'complete' : 'failed'}`,
        detail: complete ? '' : installed.message ?? '',
        level: complete ? 'success' : 'error',
      });
    }
  }
  return out;
}
