import { Alert } from '@mui/material';
import { isOurs, Unread } from '../resources';

/** Names the kinds that could not be read, since what depends on them is not shown. */
export function Notices({ unread }: { unread: Unread[] }) {
  const ours = unread.filter(u => u.why === 'Missing' && isOurs(u.kind)).map(u => u.kind.plural);
  const forbidden = unread.filter(u => u.why === 'Forbidden' && !u.kind.background);
  const failed = unread.filter(u => u.why === 'Failed');
  return (
    <>
      {forbidden.length > 0 && (
        <Alert severity="warning" sx={{ mb: 1 }}>
          You may not list {forbidden.map(u => u.kind.plural).join(', ')}; some information is
          missing or wrong.
        </Alert>
      )}
      {failed.map(u => (
        <Alert key={u.kind.plural} severity="warning" sx={{ mb: 1 }}>
          Listing {u.kind.plural} failed: {u.message}
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

/** Shows why operators cannot be described, if so. What was described before may be outdated. */
export function Failure({ error }: { error?: Error }) {
  return error ? (
    <Alert severity="error" sx={{ my: 1 }}>
      The operators cannot be described: {error.message}
    </Alert>
  ) : null;
}
