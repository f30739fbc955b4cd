// A cluster for stories and tests: foo is held by its Probe, bar waits for approval, baz has failed.

import {
  Cluster,
  ClusterServiceVersion,
  Condition,
  PlatformOperator,
  Probe,
  Subscription,
} from '../inventory/objects';

// Stories show ages. Under test, Headlamp shows every time as 90 days ago.
const hours = (n: number) => new Date(Date.now() - n * 3600e3).toISOString();

const why = 'Waiting for Foo apps/example: Migrating is True';
const held =
  `The update to foo.v1.1.0 is held: Probe default/foo.v1.0.0 reports Upgradeable=False: ${why}. ` +
  'To update anyway: kubectl annotate subscription.operators.coreos.com -n default foo operatorstatus.io/allow-upgrade=foo.v1.1.0';

function condition(
  type: string,
  status: 'True' | 'False',
  reason: string,
  message = ''
): Condition {
  return { type, status, reason, message, lastTransitionTime: hours(2) };
}

function sub(
  name: string,
  installed: string,
  current: string,
  ...conditions: Condition[]
): Subscription {
  return {
    metadata: { namespace: 'default', name },
    spec: { name, channel: 'stable', source: 'catalog', sourceNamespace: 'olm' },
    status: {
      installedCSV: installed,
      currentCSV: current,
      installPlanRef: { name: `install-${name}` },
      conditions,
    },
  };
}

function csv(name: string, phase: string, message = ''): ClusterServiceVersion {
  return {
    metadata: { namespace: 'default', name },
    spec: { version: '1.0.0' },
    status: {
      phase,
      message,
      reason: phase === 'Failed' ? 'InstallComponentFailed' : 'InstallSucceeded',
      lastTransitionTime: hours(24),
      lastTransitions: [
        {
          phase: 'Installing',
          lastTransitionTime: hours(25),
          message: 'Waiting for its Deployment',
        },
        { phase, lastTransitionTime: hours(24), message },
      ],
    },
  };
}

export const probe: Probe = {
  metadata: { namespace: 'default', name: 'foo.v1.0.0' },
  spec: {
    manager: 'crdAnnotations',
    probeResources: [
      { name: 'foos.example.com', upgradeable: '!Migrating', important: 'Degraded' },
    ],
  },
  status: {
    conditions: [
      condition('Upgradeable', 'False', 'NotUpgradeable', why),
      condition('Important', 'False', 'NothingImportant'),
      condition('Synced', 'True', 'Synced'),
    ],
    probeResources: [
      {
        resource: 'foos.example.com',
        kind: 'Foo',
        namespace: 'apps',
        name: 'example',
        blocking: true,
        reasons: ['!Migrating'],
      },
    ],
    summary: { total: 12, notUpgradeable: 1, important: 0, unknown: 2 },
  },
};

export const platformOperator: PlatformOperator = {
  metadata: { name: 'foos' },
  spec: { package: { name: 'foo', channel: 'stable' }, approval: 'Automatic' },
  status: {
    conditions: [
      condition('Ready', 'False', 'Waiting', 'ConfigMap default/settings is not ready'),
      condition('Progressing', 'True', 'UpdateHeld', why),
    ],
    resources: [
      {
        name: 'subscription',
        reference: { kind: 'Subscription', namespace: 'default', name: 'foo' },
        ready: true,
      },
      {
        name: 'settings',
        reference: { kind: 'ConfigMap', namespace: 'default', name: 'settings' },
        ready: false,
        reason: 'Forbidden',
        message: 'The service account may not create it',
      },
    ],
  },
};

export const cluster: Cluster = {
  subscriptions: [
    sub(
      'foo',
      'foo.v1.0.0',
      'foo.v1.1.0',
      condition('UpToDate', 'False', 'NewestDoesNotRun', held),
      condition('UpgradeHeld', 'True', 'ProbeNotUpgradeable', held)
    ),
    sub('bar', 'bar.v1.0.0', 'bar.v1.1.0'),
    sub('baz', 'baz.v1.0.0', 'baz.v1.0.0'),
  ],
  clusterServiceVersions: [
    csv('foo.v1.0.0', 'Succeeded'),
    csv('bar.v1.0.0', 'Succeeded'),
    csv('baz.v1.0.0', 'Failed', 'Deployment baz exceeded its progress deadline'),
  ],
  installPlans: [
    {
      metadata: { namespace: 'default', name: 'install-bar', creationTimestamp: hours(3) },
      spec: { approval: 'Manual', clusterServiceVersionNames: ['bar.v1.1.0'] },
      status: { phase: 'RequiresApproval' },
    },
    {
      metadata: { namespace: 'default', name: 'install-baz', creationTimestamp: hours(26) },
      spec: { approval: 'Manual', approved: true, clusterServiceVersionNames: ['baz.v1.0.0'] },
      status: {
        phase: 'Complete',
        conditions: [{ type: 'Installed', status: 'True', lastTransitionTime: hours(25.5) }],
      },
    },
  ],
  probes: [probe],
  catalogSources: [
    {
      metadata: { namespace: 'olm', name: 'catalog' },
      status: { connectionState: { lastObservedState: 'READY' } },
    },
  ],
  platformOperators: [platformOperator],
};
