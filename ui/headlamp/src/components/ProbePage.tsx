import {
  EmptyContent,
  Loader,
  NameValueTable,
  SectionBox,
  SimpleTable,
} from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { useParams } from 'react-router-dom';
import { Probe, ProbeResource } from '../inventory/objects';
import { probeClass } from '../resources';
import { ConditionTable } from './ConditionTable';
import { ObjectLink } from './links';

/** The page of one Probe. */
export function ProbePage() {
  const { namespace, name } = useParams<{ namespace: string; name: string }>();
  const [probe, error] = probeClass.useGet(name, namespace);
  if (error) {
    return <EmptyContent color="error">{`Reading Probe ${name}: ${error.message}`}</EmptyContent>;
  }
  return probe ? <ProbeDetails probe={probe.jsonData} /> : <Loader title="Loading Probe" />;
}

export function ProbeDetails({ probe }: { probe: Probe }) {
  const { namespace, name } = probe.metadata;
  const summary = probe.status?.summary;
  return (
    <>
      <SectionBox title={`Probe ${namespace}/${name}`} backLink paddingTop={2}>
        <NameValueTable
          rows={[
            {
              name: 'Operator',
              value: (
                <ObjectLink object={{ kind: 'ClusterServiceVersion', namespace, name }}>
                  {name}
                </ObjectLink>
              ),
            },
            { name: 'Managed by', value: managerOf(probe) },
            ...(probe.spec?.probeResources ?? []).map(r => ({
              name: 'Reads',
              value: [
                r.name ?? r.resource,
                r.upgradeable && `may be updated while ${r.upgradeable}`,
                r.important && `important: ${r.important}`,
              ]
                .filter(Boolean)
                .join('; '),
            })),
            {
              name: 'Custom resources',
              value: summary
                ? `${summary.total}, of which ${summary.notUpgradeable} block, ${summary.important} are important and ${summary.unknown} unknown`
                : '',
              hide: !summary,
            },
          ]}
        />
      </SectionBox>
      <SectionBox title="Conditions">
        <ConditionTable
          conditions={probe.status?.conditions}
          bad={['Important', 'GateConflict', 'Holding']}
        />
      </SectionBox>
      <ProbeResources probe={probe} />
    </>
  );
}

/** Lists the custom resources that block, or that have important conditions. */
function ProbeResources({ probe }: { probe: Probe }) {
  return (
    <SectionBox title="Custom resources">
      <SimpleTable
        emptyMessage="No custom resource blocks the operator or has important conditions."
        data={probe.status?.probeResources ?? []}
        columns={[
          {
            label: 'Custom resource',
            getter: (r: ProbeResource) =>
              r.name ? <ObjectLink object={r} /> : `${r.count} ${r.kind} without a name shown`,
          },
          { label: 'Blocks', getter: (r: ProbeResource) => (r.blocking ? 'Yes' : 'No') },
          { label: 'Because of', getter: (r: ProbeResource) => (r.reasons ?? []).join(', ') },
        ]}
      />
    </SectionBox>
  );
}

function managerOf(probe: Probe): string {
  switch (probe.spec?.manager) {
    case 'crdAnnotations':
      return "operator-status, from the annotations of the operator's CustomResourceDefinitions";
    case 'policy':
      return 'operator-status, from ProbePolicies';
    case 'operator':
      return 'the operator, which writes its status';
    default:
      return probe.spec ? 'a user' : 'the operator, which writes its status';
  }
}
