import { K8s } from '@kinvolk/headlamp-plugin/lib';
import { lightTheme } from '@kinvolk/headlamp-plugin/lib/components/App/defaultAppThemes';
import { createMuiTheme } from '@kinvolk/headlamp-plugin/lib/lib/themes';
import store from '@kinvolk/headlamp-plugin/lib/redux/stores/store';
import { ThemeProvider } from '@mui/material';
import { Meta, StoryObj } from '@storybook/react';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Provider } from 'react-redux';
import { MemoryRouter } from 'react-router-dom';
import { allKinds, Kind, Operator } from '../inventory/inventory';
import { PlatformOperator, Probe } from '../inventory/objects';
import { isOurs, Unread } from '../resources';
import { ConfirmedButton } from './ActionButton';
import { Failure } from './Notices';
import { OperatorDetails } from './OperatorPage';
import { OperatorList } from './Overview';
import { PlatformOperatorDetails } from './PlatformOperatorPage';
import { ProbeDetails } from './ProbePage';
import { cluster, operators } from './testdata';

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

const unread = (why: Unread['why'], ...some: Kind[]): Unread[] =>
  some.map(kind => ({ kind, why, message: 'the server is shutting down' }));

export const Overview: StoryObj = {
  render: () => <OperatorList operators={operators} unread={[]} />,
};

export const Empty: StoryObj = {
  render: () => <OperatorList operators={[]} unread={unread('Missing', ...allKinds)} />,
};

/** Our kinds are missing. Some others may not be read. */
export const NotInstalled: StoryObj = {
  render: () => (
    <OperatorList
      operators={operators}
      unread={[
        ...unread('Missing', ...allKinds.filter(isOurs)),
        ...unread(
          'Forbidden',
          ...allKinds.filter(k => ['InstallPlans', 'Roles'].includes(k.plural))
        ),
        ...unread('Failed', ...allKinds.filter(k => k.plural === 'Subscriptions')),
      ]}
    />
  ),
};

/** The program does not run. */
export const NotDescribed: StoryObj = {
  render: () => <Failure error={new Error('out of memory')} />,
};

function details(name: string, changes: Partial<Operator> = {}) {
  const operator = operators.find(o => o.metadata.name === name);
  return operator ? (
    <OperatorDetails
      operator={{ ...operator, ...changes }}
      cluster={cluster}
      unread={[]}
      actions={[]}
    />
  ) : (
    <></>
  );
}

export const Held: StoryObj = { render: () => details('foo') };
export const WaitingForApproval: StoryObj = { render: () => details('bar') };
export const Broken: StoryObj = { render: () => details('baz') };
export const OfHelm: StoryObj = { render: () => details('mail') };

const clear = { blockers: undefined, blocked: undefined };

export const Clear: StoryObj = { render: () => details('foo', clear) };

/** Not all that the operator depends on could be read. */
export const NotKnown: StoryObj = {
  render: () => details('foo', { ...clear, unread: ['InstallPlans'] }),
};

/** Nothing blocks the operator yet. */
export const Freeze: StoryObj = {
  render: () => {
    const [hold] = operators.find(o => o.metadata.name === 'foo')?.blockers ?? [];
    return details('foo', {
      ...clear,
      wouldHold: [hold],
      notices: [{ ...hold, impact: 'Notice' }],
    });
  },
};

const [probe] = cluster.objects.Probes as Probe[];
const [platformOperator] = cluster.objects.PlatformOperators as PlatformOperator[];

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
