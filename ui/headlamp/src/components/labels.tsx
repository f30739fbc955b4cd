import { Utils } from '@kinvolk/headlamp-plugin/lib';
import { StatusLabel } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { Impact } from '../inventory/blockers';
import { State } from '../inventory/inventory';
import { Status } from '../inventory/objects';

type Level = 'success' | 'warning' | 'error' | '';

const stateLevels: Record<State, Level> = {
  Running: 'success',
  Installing: 'warning',
  Failed: 'error',
  NotInstalled: '',
  Unknown: '',
};

export function StateLabel({ state }: { state: State }) {
  return <StatusLabel status={stateLevels[state]}>{state}</StatusLabel>;
}

export function ImpactLabel({ impact }: { impact: Impact }) {
  return <StatusLabel status={impact === 'Broken' ? 'error' : 'warning'}>{impact}</StatusLabel>;
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
