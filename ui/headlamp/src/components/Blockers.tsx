import { Alert, Box, Card, Stack, Typography } from '@mui/material';
import { Blocker } from '../inventory/inventory';
import { Probe, ProbeResource } from '../inventory/objects';
import { Code } from './ActionButton';
import { Age, ImpactLabel } from './labels';
import { ObjectLink, objectNamed } from './links';

/**
 * Shows what blocks an operator, why, and what ends it. probe is that of the running version, and
 * unread are the kinds that could not be read.
 */
export function Blockers(props: { blockers?: Blocker[]; unread?: string[]; probe?: Probe }) {
  const { blockers = [], unread = [], probe } = props;
  if (blockers.length === 0 && unread.length > 0) {
    return (
      <Alert severity="info">
        Cannot tell whether anything blocks it without its {unread.join(', ')}.
      </Alert>
    );
  }
  if (blockers.length === 0) {
    return <Alert severity="success">Nothing blocks it.</Alert>;
  }
  return <Cards blockers={blockers} probe={probe} />;
}

/** Shows blockers, or what is like one. */
export function Cards({ blockers, probe }: { blockers: Blocker[]; probe?: Probe }) {
  return (
    <Stack gap={2}>
      {blockers.map(b => (
        <BlockerCard key={b.by + b.reason + b.cause} blocker={b} probe={probe} />
      ))}
    </Stack>
  );
}

function BlockerCard({ blocker: b, probe }: { blocker: Blocker; probe?: Probe }) {
  const isProbe = probe && b.by === `Probe ${probe.metadata.namespace}/${probe.metadata.name}`;
  return (
    <Card variant="outlined" sx={{ p: 2 }}>
      <Stack direction="row" gap={1} alignItems="center" flexWrap="wrap">
        <ImpactLabel impact={b.impact} />
        <span>
          by <ObjectLink object={objectNamed(b.by)}>{b.by}</ObjectLink>
        </span>
        <Typography component="span" color="text.secondary">
          {b.reason}
          {b.since && (
            <>
              {', for '}
              <Age since={b.since} />
            </>
          )}
        </Typography>
      </Stack>
      <Box sx={{ my: 1.5, overflowWrap: 'anywhere' }}>{b.cause}</Box>
      {isProbe && <BlockingResources resources={probe.status?.probeResources ?? []} />}
      {b.steps?.map(s => (
        <Box key={s.command} sx={{ mt: 1.5 }}>
          <Typography variant="body2" color="text.secondary">
            {s.to}:
          </Typography>
          <Code>{s.command}</Code>
        </Box>
      ))}
    </Card>
  );
}

/** Lists the custom resources that block, with the conditions that decide so. */
function BlockingResources({ resources }: { resources: ProbeResource[] }) {
  return (
    <Box component="ul" aria-label="Blocking custom resources" sx={{ my: 0, pl: 3 }}>
      {resources
        .filter(r => r.blocking)
        .map(r => (
          <li key={`${r.resource} ${r.namespace} ${r.name}`}>
            {r.name ? <ObjectLink object={r} /> : `${r.count} ${r.kind} without a name shown`}
            {r.reasons?.length ? `: ${r.reasons.join(', ')}` : ''}
          </li>
        ))}
    </Box>
  );
}
