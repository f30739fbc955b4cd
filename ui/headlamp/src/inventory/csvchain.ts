// The counterpart of internal/csvchain.

import { ClusterServiceVersion } from './objects';

export type CSVs = Map<string, ClusterServiceVersion>;

/** Reports whether a ClusterServiceVersion has ever Succeeded. OLM's conditions are its past phases. */
export function ran(csv: ClusterServiceVersion): boolean {
  const status = csv.status;
  return (
    status?.phase === 'Succeeded' ||
    !!status?.lastTransitions?.some(t => t.phase === 'Succeeded') ||
    !!status?.conditions?.some(c => !c.type && c.phase === 'Succeeded')
  );
}

/** How many phases of a ClusterServiceVersion OLM keeps. */
const historyOfOLM = 20;

/** Reports whether a ClusterServiceVersion has run, or may have. */
export function begun(csv: ClusterServiceVersion): boolean {
  return ran(csv) || (csv.status?.conditions?.length ?? 0) >= historyOfOLM;
}

/**
 * Follows `replaces` back and returns the ClusterServiceVersion that runs: the first that has ever
 * Succeeded, or else the oldest that exists.
 */
export function running(csvs: CSVs, from: string | undefined): ClusterServiceVersion | undefined {
  let out: ClusterServiceVersion | undefined;
  const seen = new Set<string>();
  for (let name = from ?? ''; csvs.has(name) && !seen.has(name); name = out?.spec?.replaces ?? '') {
    seen.add(name);
    out = csvs.get(name) as ClusterServiceVersion;
    if (ran(out)) {
      return out;
    }
  }
  return out;
}
