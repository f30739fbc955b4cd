import { Alert } from '@mui/material';
import { isOurs, Unread } from '../resources';

/** Names the kinds that could not be read, since what depends on them is not shown. */
export function Notices({ unread }: { unread: Unread[] }) {
  const ours = unread.filter(u => u.why === 'Missing' && isOurs(u.kind)).map(u => u.kind.plural);
  const others = unread.filter(
    u => u.why === 'Failed' || (u.why === 'Forbidden' && !u.kind.background)
  );
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
          statuses are those that other programs report.
        </Alert>
      )}
    </>
  );
}

function messageOf(u: Unread): string {
  const { plural } = u.kind;
  return u.why === 'Forbidden'
    ? `You may not list ${plural}; some information is missing or wrong.`
    : `Listing ${plural} failed: ${u.message}`;
}
