import { Link, Loader, SectionBox, Table } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { ButtonBase, Stack, Typography } from '@mui/material';
import { useMemo, useState } from 'react';
import { awaitsApproval, Operator, updateVersion } from '../inventory/inventory';
import { Unread, useOperators } from '../resources';
import { Age, ConditionLabel, ImpactLabel, StateLabel, UnknownLabel } from './labels';
import { Failure, Notices } from './Notices';

/** What the overview counts. A count filters the table. */
const counts: { label: string; color?: string; has: (o: Operator) => boolean }[] = [
  { label: 'Operators', has: () => true },
  { label: 'Running', color: 'success.main', has: o => o.state === 'Running' },
  { label: 'Held', color: 'warning.main', has: o => o.blocked === 'Held' },
  { label: 'Broken', color: 'error.main', has: o => o.blocked === 'Broken' },
  { label: 'Waiting for approval', color: 'warning.main', has: awaitsApproval },
];

/** The page with all operators of the cluster. */
export function Overview() {
  const { operators, unread, failure } = useOperators({});
  return (
    <>
      <Failure error={failure} />
      {operators && <OperatorList operators={operators} unread={unread} />}
      {!operators && !failure && <Loader title="Loading operators" />}
    </>
  );
}

export function OperatorList(props: { operators: Operator[]; unread: Unread[] }) {
  const [filter, setFilter] = useState(counts[0]);
  const rows = useMemo(() => props.operators.filter(filter.has), [props.operators, filter]);
  return (
    <SectionBox title="Operators" paddingTop={2}>
      <Notices unread={props.unread} />
      <Stack direction="row" gap={2} flexWrap="wrap" sx={{ mb: 2 }}>
        {counts.map(c => (
          <Count
            key={c.label}
            label={c.label}
            color={c.color}
            value={props.operators.filter(c.has).length}
            selected={c === filter}
            onClick={() => setFilter(c)}
          />
        ))}
      </Stack>
      <Table
        data={rows}
        emptyMessage={
          filter === counts[0] ? 'No operators found.' : `No operators: ${filter.label}.`
        }
        enableColumnActions={false}
        columns={[
          { header: 'Namespace', accessorFn: o => o.metadata.namespace, gridTemplate: 'auto' },
          {
            header: 'Name',
            accessorFn: o => o.metadata.name,
            gridTemplate: 'auto',
            Cell: ({ row: { original: o } }) => <OperatorLink operator={o} />,
          },
          {
            header: 'Version',
            accessorFn: o => [o.version, updateVersion(o)].filter(Boolean).join(' → '),
            gridTemplate: 'auto',
          },
          {
            header: 'State',
            accessorKey: 'state',
            gridTemplate: 'min-content',
            Cell: ({ row: { original: o } }) => <StateLabel state={o.state} />,
          },
          {
            header: 'Up to date',
            accessorKey: 'upToDate',
            gridTemplate: 'min-content',
            Cell: ({ row: { original: o } }) => <ConditionLabel status={o.upToDate} bad="False" />,
          },
          {
            header: 'Blocked',
            accessorFn: o => o.blocked ?? (o.unread ? 'Unknown' : ''),
            gridTemplate: 'min-content',
            Cell: ({ row: { original: o } }) => {
              if (o.blocked) {
                return <ImpactLabel impact={o.blocked} />;
              }
              return o.unread ? <UnknownLabel /> : null;
            },
          },
          {
            header: 'Since',
            accessorFn: o => o.blockers?.[0]?.since ?? '',
            gridTemplate: 'min-content',
            Cell: ({ row: { original: o } }) => <Age since={o.blockers?.[0]?.since} />,
          },
          { header: 'By', accessorFn: by, gridTemplate: 'minmax(200px, 2fr)' },
          { header: 'Installer', accessorFn: o => o.installer ?? '', gridTemplate: 'min-content' },
        ]}
      />
    </SectionBox>
  );
}

/** Names what blocks an operator first, and how much more does. */
function by(o: Operator): string {
  const [first, ...more] = [...(o.blockers ?? []), ...(o.wouldHold ?? [])];
  return (first?.by ?? '') + (more.length > 0 ? ` (and ${more.length} more)` : '');
}

function OperatorLink({ operator }: { operator: Operator }) {
  const { namespace, name } = operator.metadata;
  return (
    <Link routeName="operator" params={{ namespace, name }}>
      {name}
    </Link>
  );
}

function Count(props: {
  label: string;
  value: number;
  color?: string;
  selected: boolean;
  onClick: () => void;
}) {
  const { label, value, color, selected, onClick } = props;
  return (
    <ButtonBase
      onClick={onClick}
      aria-pressed={selected}
      sx={{
        border: 1,
        borderColor: selected ? 'text.primary' : 'divider',
        borderRadius: 1,
        px: 2.5,
        py: 1,
        minWidth: 120,
        flexDirection: 'column',
        alignItems: 'flex-start',
      }}
    >
      <Typography
        component="span"
        sx={{ fontSize: 28, lineHeight: 1.2, color: value ? color : 'text.disabled' }}
      >
        {value}
      </Typography>
      <Typography component="span" variant="body2" color="text.secondary">
        {label}
      </Typography>
    </ButtonBase>
  );
}
