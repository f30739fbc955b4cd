import { StatusLabel } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { Box, Stack, Typography } from '@mui/material';
import { isCounted } from '../inventory/graph';
import { Node } from '../inventory/inventory';
import { levelOf } from '../inventory/level';
import { ObjectLink, objectNamed } from './links';

/** Shows the objects that an operator consists of as nested boxes. */
export function Tree({ node }: { node: Node }) {
  const { name, resource, children = [] } = node;
  const level = levelOf(node);
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
        <span>
          {isCounted(name) ? (
            name
          ) : (
            <ObjectLink object={{ ...objectNamed(name), resource }}>{name}</ObjectLink>
          )}
        </span>
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
      {children.length > 0 && (
        <Stack direction="row" gap={1.5} flexWrap="wrap" sx={{ mt: 1.5 }}>
          {children.map(child => (
            <Tree key={child.name + child.state} node={child} />
          ))}
        </Stack>
      )}
    </Box>
  );
}
