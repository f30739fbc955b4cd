import { Alert } from '@mui/material';
import { Unread } from '../resources';

/** Names the kinds that could not be read, since what depends on them is not shown. */
export function Notices({ unread }: { unread: Unread[] }) {
  const missing = unread.filter(u => u.why === 'Missing');
  const ours = missing.filter(u => u.kind.ours).map(u => u.kind.plural);
  const others = unread.filter(u => u.why !== 'Missing' || !u.kind.ours);
  return (
    <>
      {others.map(u => (
        <Alert key={u.kind.plural} severity="warning" sx={{ mb: 1 }}>
          {messageOf(u)}
        </Alert>
      ))}
      {ours.length > 0 && (
        <Alert severity="info" sx={{ mb: 1 }}>
          This cluster has no {ours.join(' and no ')}: operator-status is not installed here. All
          statuses are those that OLM reports.
        </Alert>
      )}
    </>
  );
}

function messageOf(u: Unread): string {
  const { plural } = u.kind;
  switch (u.why) {
    case 'Missing':
      return plural === 'Subscriptions'
        ? 'This cluster has no Subscriptions: neither OLM nor operator-status with its built-in loops is installed here.'
        : `This cluster has no ${plural}.`;
    case 'Forbidden':
      return `You may not list ${plural}; some information is missing or wrong.`;
    default:
      return `Listing ${plural} failed: ${u.message}`;
  }
}
