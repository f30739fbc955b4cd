import { AuthVisible, ConfirmDialog } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { KubeObject } from '@kinvolk/headlamp-plugin/lib/K8s/cluster';
import { Alert, Box, Button } from '@mui/material';
import { ReactNode, useState } from 'react';

export interface Action {
  label: string;
  /** What the user confirms. */
  question: ReactNode;
  object: KubeObject;
  patch: object;
}

/** A button that patches an object after a confirmation. Users who may not patch it do not see it. */
export function ActionButton({ action }: { action: Action }) {
  const { object } = action;
  return (
    <AuthVisible item={object} authVerb="patch" namespace={object.getNamespace()}>
      <ConfirmedButton action={action} apply={() => object.patch(action.patch)} />
    </AuthVisible>
  );
}

export function ConfirmedButton(props: { action: Action; apply: () => Promise<unknown> }) {
  const { label, question, object, patch } = props.action;
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState('');
  const apply = () => {
    setProblem('');
    props.apply().catch((error: Error) => setProblem(error.message));
  };
  return (
    <>
      <Button variant="contained" onClick={() => setOpen(true)}>
        {label}
      </Button>
      {problem && (
        <Alert severity="error" onClose={() => setProblem('')}>
          {label} failed: {problem}
        </Alert>
      )}
      <ConfirmDialog
        open={open}
        title={label}
        description={
          <>
            {question}
            <Box sx={{ mt: 2 }}>
              This patches {object.kind} {object.getNamespace()}/{object.getName()}:
            </Box>
            <Code>{JSON.stringify(patch, null, 2)}</Code>
          </>
        }
        confirmLabel={label}
        cancelLabel="Cancel"
        handleClose={() => setOpen(false)}
        onConfirm={apply}
      />
    </>
  );
}

/** Shows a command or another text as it is. */
export function Code({ children }: { children: string }) {
  return (
    <Box
      component="pre"
      sx={{
        m: 0,
        mt: 0.5,
        p: 1,
        borderRadius: 1,
        bgcolor: 'action.hover',
        fontSize: 13,
        whiteSpace: 'pre-wrap',
        overflowWrap: 'anywhere',
      }}
    >
      {children}
    </Box>
  );
}
