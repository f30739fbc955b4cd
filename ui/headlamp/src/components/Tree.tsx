import { StatusLabel } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { Box, Stack, Typography } from '@mui/material';
import { levelOf, Node } from '../inventory/tree';
import { ObjectLink } from './links';

/** Shows the objects that an operator consists of as nested boxes. */
export function Tree({ node }: { node: Node }) {
  const level = levelOf(node.state);
  return (
    <Box
      sx={{
        border: 1,
        borderColor: level === 'warning' || level === 'error' ? `${level}.main` : 'divider',
        borderRadius: 1,
        p: 1.5,
        flexGrow: 1,
        minWidth: 220,
      }}
    >
      <Stack direction="row" gap={1} alignItems="center" flexWrap="wrap">
        <span>{node.ref ? <ObjectLink object={node.ref} /> : node.name}</span>
        <StatusLabel status={level}>{node.state || 'New'}</StatusLabel>
      </Stack>
      {node.message && (
        <Typography
          variant="body2"
          color="text.secondary"
          title={node.message}
          sx={{
            mt: 0.5,
            overflowWrap: 'anywhere',
            overflow: 'hidden',
            display: '-webkit-box',
            WebkitBoxOrient: 'vertical',
            WebkitLineClamp: 2,
          }}
        >
          {node.message}
        </Typography>
      )}
      {node.children.length > 0 && (
        <Stack direction="row" gap={1.5} flexWrap="wrap" sx={{ mt: 1.5 }}>
          {node.children.map(child => (
            <Tree key={child.name + child.state} node={child} />
          ))}
        </Stack>
      )}
    </Box>
  );
}
