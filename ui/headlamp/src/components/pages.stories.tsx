import { K8s } from '@kinvolk/headlamp-plugin/lib';
import { lightTheme } from '@kinvolk/headlamp-plugin/lib/components/App/defaultAppThemes';
import { createMuiTheme } from '@kinvolk/headlamp-plugin/lib/lib/themes';
import store from '@kinvolk/headlamp-plugin/lib/redux/stores/store';
import { ThemeProvider } from '@mui/material';
import { Meta, StoryObj } from '@storybook/react';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Provider } from 'react-redux';
import { MemoryRouter } from 'react-router-dom';
import { operators } from '../inventory/inventory';
import { Cluster } from '../inventory/objects';
import { installPlans, kinds, subscriptions, Unread } from '../resources';
import { ConfirmedButton } from './ActionButton';
import { OperatorDetails } from './OperatorPage';
import { OperatorList } from './Overview';
import { PlatformOperatorDetails } from './PlatformOperatorPage';
import { ProbeDetails } from './ProbePage';
import { cluster, platformOperator, probe } from './testdata';

const theme = createMuiTheme(lightTheme);

export default {
  title: 'Operators',
  decorators: [
    Story => (
      <Provider store={store}>
        <QueryClientProvider client={new QueryClient()}>
          <ThemeProvider theme={theme}>
            <MemoryRouter>
              <Story />
            </MemoryRouter>
          </ThemeProvider>
        </QueryClientProvider>
      </Provider>
    ),
  ],
} as Meta;

const unread = (why: Unread['why'], ...some: typeof kinds): Unread[] =>
  some.map(kind => ({ kind, why, message: 'the server is shutting down' }));

export const Overview: StoryObj = {
  render: () => <OperatorList operators={operators(cluster)} unread={[]} />,
};

export const Empty: StoryObj = {
  render: () => <OperatorList operators={[]} unread={unread('Missing', ...kinds)} />,
};

/** Our kinds are missing. Every other kind but one could be read. */
export const OLMAlone: StoryObj = {
  render: () => (
    <OperatorList
      operators={operators({ ...cluster, probes: undefined, platformOperators: undefined })}
      unread={[
        ...unread('Missing', ...kinds.filter(k => k.ours)),
        ...unread('Forbidden', installPlans),
        ...unread('Failed', subscriptions),
      ]}
    />
  ),
};

function details(name: string, c: Cluster = cluster) {
  const operator = operators(c).find(o => o.name === name);
  return operator ? (
    <OperatorDetails operator={operator} cluster={c} deployments={[]} unread={[]} actions={[]} />
  ) : (
    <></>
  );
}

export const Held: StoryObj = { render: () => details('foo') };
export const WaitingForApproval: StoryObj = { render: () => details('bar') };
export const Broken: StoryObj = { render: () => details('baz') };

const clear = {
  ...cluster,
  subscriptions: cluster.subscriptions?.map(s => ({
    ...s,
    status: {
      ...s.status,
      currentCSV: s.status?.installedCSV,
      installPlanRef: null,
      conditions: [],
    },
  })),
};

export const Clear: StoryObj = { render: () => details('foo', clear) };

/** Not all that the operator depends on could be read. */
export const NotKnown: StoryObj = {
  render: () => details('foo', { ...clear, installPlans: undefined, unread: ['InstallPlans'] }),
};

export const AProbe: StoryObj = { render: () => <ProbeDetails probe={probe} /> };

export const APlatformOperator: StoryObj = {
  render: () => <PlatformOperatorDetails op={platformOperator} />,
};

const plan = new K8s.cluster.KubeObject({
  kind: 'InstallPlan',
  metadata: { namespace: 'default', name: 'install-bar' } as never,
});

/** A button whose patch the API server refuses. */
export const Approve: StoryObj = {
  render: () => (
    <ConfirmedButton
      action={{
        label: 'Approve',
        question: 'InstallPlan install-bar installs bar.v1.1.0.',
        object: plan,
        patch: { spec: { approved: true } },
      }}
      apply={() => Promise.reject(new Error('forbidden'))}
    />
  ),
};
