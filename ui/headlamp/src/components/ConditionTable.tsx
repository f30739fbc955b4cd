import { SimpleTable } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { Status } from '../inventory/inventory';
import { Condition } from '../inventory/objects';
import { Age, ConditionLabel } from './labels';

/** Shows conditions. Those of the types in bad need attention if they are True, others if they are False. */
export function ConditionTable(props: { conditions?: Condition[] | null; bad: string[] }) {
  const worst = (c: Condition): Status => (props.bad.includes(c.type) ? 'True' : 'False');
  return (
    <SimpleTable
      emptyMessage="It has no conditions yet."
      data={props.conditions ?? []}
      columns={[
        { label: 'Condition', datum: 'type', gridTemplate: 'min-content' },
        {
          label: 'Status',
          gridTemplate: 'min-content',
          getter: (c: Condition) => <ConditionLabel status={c.status} bad={worst(c)} />,
        },
        { label: 'Reason', datum: 'reason', gridTemplate: 'min-content' },
        { label: 'Message', datum: 'message', gridTemplate: '1fr' },
        {
          label: 'Since',
          gridTemplate: 'min-content',
          getter: (c: Condition) => <Age since={c.lastTransitionTime} />,
        },
      ]}
    />
  );
}
