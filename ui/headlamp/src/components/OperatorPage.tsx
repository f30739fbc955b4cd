import {
  EmptyContent,
  Link,
  Loader,
  NameValueTable,
  SectionBox,
} from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { KubeObject } from '@kinvolk/headlamp-plugin/lib/K8s/cluster';
import { Stack } from '@mui/material';
import { useParams } from 'react-router-dom';
import { uids } from '../inventory/graph';
import { history } from '../inventory/history';
import { awaitsApproval, Cluster, Operator, updateVersion } from '../inventory/inventory';
import { allowUpgrade, Probe } from '../inventory/objects';
import { Loaded, Unread, useOperators } from '../resources';
import { Action, ActionButton } from './ActionButton';
import { Blockers, Cards } from './Blockers';
import { History } from './History';
import { ConditionLabel, StateLabel } from './labels';
import { ObjectLink } from './links';
import { Failure, Notices } from './Notices';
import { Tree } from './Tree';

/** The page of one operator. */
export function OperatorPage() {
  const { namespace, name } = useParams<{ namespace: string; name: string }>();
  // What was read of another namespace is not kept.
  return <OperatorOf key={namespace} namespace={namespace} name={name} />;
}

function OperatorOf({ namespace, name }: { namespace: string; name: string }) {
  const loaded = useOperators({ namespace, trees: true });
  const { cluster, operators, failure } = loaded;
  if (!cluster || !operators) {
    return failure ? <Failure error={failure} /> : <Loader title={`Loading operator ${name}`} />;
  }
  const operator = operators.find(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === name
  );
  if (!operator) {
    return (
      <SectionBox title={name} backLink paddingTop={2}>
        <Notices unread={loaded.unread} />
        <EmptyContent>
          There is no operator {name} in namespace {namespace}.
        </EmptyContent>
      </SectionBox>
    );
  }
  return (
    <OperatorDetails
      operator={operator}
      cluster={cluster}
      unread={loaded.unread}
      failure={failure}
      actions={actionsOf(operator, loaded)}
    />
  );
}

export function OperatorDetails(props: {
  operator: Operator;
  cluster: Cluster;
  unread: Unread[];
  failure?: Error;
  actions: Action[];
}) {
  const { operator: o, cluster, unread, actions } = props;
  const { namespace, name } = o.metadata;
  const probe = (cluster.objects.Probes as Probe[] | undefined)?.find(
    p => p.metadata.namespace === namespace && p.metadata.name === o.clusterServiceVersion
  );
  return (
    <>
      <SectionBox
        title={`Operator ${namespace}/${name}`}
        backLink
        paddingTop={2}
        headerProps={{
          actions: [
            <Stack key="actions" direction="row" gap={1}>
              {actions.map(a => (
                <ActionButton key={a.label} action={a} />
              ))}
            </Stack>,
          ],
        }}
      >
        <Failure error={props.failure} />
        <Notices unread={unread} />
        <NameValueTable
          rows={[
            { name: 'State', value: <StateLabel state={o.state} /> },
            {
              name: 'Version',
              value:
                o.version &&
                `${o.version}${o.update ? `, to be updated to ${updateVersion(o)}` : ''}`,
              hide: !o.version,
            },
            {
              name: 'Up to date',
              value: <ConditionLabel status={o.upToDate} bad="False" />,
            },
            {
              name: 'Upgradeable',
              value: <ConditionLabel status={o.upgradeable} bad="False" />,
            },
            {
              name: 'Package',
              value: `${o.package}${o.channel ? `, channel ${o.channel}` : ''} of CatalogSource ${
                o.catalog
              }`,
              hide: !o.package,
            },
            {
              name: 'Installer',
              value: o.installer,
              hide: !o.installer,
            },
            {
              name: 'PlatformOperator',
              value: (
                <ObjectLink object={{ kind: 'PlatformOperator', name: o.platformOperator }}>
                  {o.platformOperator}
                </ObjectLink>
              ),
              hide: !o.platformOperator,
            },
          ]}
        />
      </SectionBox>
      <SectionBox title="What blocks it">
        <Blockers blockers={o.blockers} unread={o.unread} probe={probe} />
      </SectionBox>
      {o.wouldHold && (
        <SectionBox title="What would hold its next update">
          <Cards blockers={o.wouldHold} probe={probe} />
        </SectionBox>
      )}
      {o.notices && (
        <SectionBox title="Important">
          <Cards blockers={o.notices} />
        </SectionBox>
      )}
      <SectionBox
        title="Objects"
        headerProps={{ actions: [<MapLink key="map" operator={o} cluster={cluster} />] }}
      >
        {o.tree && <Tree node={o.tree} />}
      </SectionBox>
      <SectionBox title="History">
        <History events={history(cluster, o)} />
      </SectionBox>
    </>
  );
}

/** A link to Headlamp's map that shows one operator alone: the objects that are connected to its Subscription. */
function MapLink({
  operator: { metadata, tree },
  cluster,
}: {
  operator: Operator;
  cluster: Cluster;
}) {
  const { namespace, name } = metadata;
  const ids = uids(cluster);
  const object =
    ['Subscription', 'ClusterServiceVersion']
      .map(kind => `${kind} ${namespace}/${name}`)
      .find(name => ids.has(name)) ??
    tree?.name ??
    '';
  return (
    <Link routeName="map" search={{ namespace, node: ids.get(object) || object }}>
      Show on the map
    </Link>
  );
}

/** Returns what a user can do about an operator. */
function actionsOf(o: Operator, { objects }: Loaded): Action[] {
  const find = (list: KubeObject[] | undefined, name: string) =>
    list?.find(k => k.getNamespace() === o.metadata.namespace && k.getName() === name);
  const out: Action[] = [];
  const plan = o.approval && find(objects.get('InstallPlans'), o.approval.installPlan);
  if (plan && awaitsApproval(o)) {
    out.push({
      label: 'Approve',
      question: `InstallPlan ${plan.getName()} installs ${o.approval?.installs.join(
        ', '
      )}. An approval does not end a hold.`,
      object: plan,
      patch: { spec: { approved: true } },
    });
  }
  const sub = find(objects.get('Subscriptions'), o.metadata.name);
  if (sub && o.update && byAnnotation(o)) {
    out.push({
      label: 'Override',
      question: `The update to ${o.update} proceeds although ${o.clusterServiceVersion} does not allow it.`,
      object: sub,
      patch: { metadata: { annotations: { [allowUpgrade]: o.update } } },
    });
  }
  return out;
}

/** Reports whether the annotation of the Subscription ends a hold. */
function byAnnotation(o: Operator): boolean {
  const allows = `${allowUpgrade}=${o.update}`;
  return !!o.blockers?.some(b => b.steps?.some(s => s.command.includes(allows)));
}
