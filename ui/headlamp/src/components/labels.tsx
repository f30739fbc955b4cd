import { Utils } from '@kinvolk/headlamp-plugin/lib';
import { StatusLabel } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { Impact, State, Status } from '../inventory/inventory';

type Level = 'success' | 'warning' | 'error' | '';

const stateLevels: Record<State, Level> = {
  Running: 'success',
  Installing: 'warning',
  Failed: 'error',
  Stopped: 'warning',
  NotInstalled: '',
  Unknown: '',
};

export function StateLabel({ state }: { state: State }) {
  return <StatusLabel status={stateLevels[state]}>{state}</StatusLabel>;
}

const impactLevels: Record<Impact, Level> = {
  Broken: 'error',
  Held: 'warning',
  Waiting: 'warning',
  Notice: '',
};

export function ImpactLabel({ impact }: { impact: Impact }) {
  return <StatusLabel status={impactLevels[impact]}>{impact}</StatusLabel>;
}

/** Shows that it is not known whether something blocks an operator. */
export function UnknownLabel() {
  return <StatusLabel status="">Unknown</StatusLabel>;
}

/** Shows the status of a condition. bad is the status that needs attention. */
export function ConditionLabel({ status, bad }: { status: Status; bad: Status }) {
  const level = status === 'Unknown' ? '' : status === bad ? 'warning' : 'success';
  return <StatusLabel status={level}>{status}</StatusLabel>;
}

/** Shows how long ago something was, and the time when the mouse is over it. */
export function Age({ since }: { since?: string | null }) {
  if (!since) {
    return <></>;
  }
  return (
    <time dateTime={since} title={Utils.localeDate(since)}>
      {Utils.timeAgo(since)}
    </time>
  );
}
