import {
  EmptyContent,
  Loader,
  NameValueTable,
  SectionBox,
  SimpleTable,
  StatusLabel,
} from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { useParams } from 'react-router-dom';
import { ComposedResource, PlatformOperator } from '../inventory/objects';
import { platformOperatorClass } from '../resources';
import { ConditionTable } from './ConditionTable';
import { ObjectLink } from './links';

/** The page of one PlatformOperator. */
export function PlatformOperatorPage() {
  const { name } = useParams<{ name: string }>();
  const [op, error] = platformOperatorClass.useGet(name);
  if (error) {
    return (
      <EmptyContent color="error">{`Reading PlatformOperator ${name}: ${error.message}`}</EmptyContent>
    );
  }
  return op ? (
    <PlatformOperatorDetails op={op.jsonData} />
  ) : (
    <Loader title="Loading PlatformOperator" />
  );
}

export function PlatformOperatorDetails({ op }: { op: PlatformOperator }) {
  const { name: pkg, channel } = op.spec?.package ?? {};
  return (
    <>
      <SectionBox title={`PlatformOperator ${op.metadata.name}`} backLink paddingTop={2}>
        <NameValueTable
          rows={[
            { name: 'Package', value: channel ? `${pkg}, channel ${channel}` : pkg },
            { name: 'Approval', value: op.spec?.approval },
          ]}
        />
      </SectionBox>
      <SectionBox title="Conditions">
        <ConditionTable conditions={op.status?.conditions} bad={['Progressing', 'Important']} />
      </SectionBox>
      <ComposedResources op={op} />
    </>
  );
}

/** Lists the objects that a PlatformOperator composes. */
function ComposedResources({ op }: { op: PlatformOperator }) {
  return (
    <SectionBox title="Composed resources">
      <SimpleTable
        emptyMessage="It composes no resources yet."
        data={op.status?.resources ?? []}
        columns={[
          { label: 'Name', datum: 'name', gridTemplate: 'min-content' },
          {
            label: 'Object',
            getter: (r: ComposedResource) => <ObjectLink object={r.reference ?? {}} />,
          },
          {
            label: 'Ready',
            gridTemplate: 'min-content',
            getter: (r: ComposedResource) => (
              <StatusLabel status={r.ready ? 'success' : 'warning'}>
                {r.ready ? 'Ready' : r.reason || 'Not ready'}
              </StatusLabel>
            ),
          },
          { label: 'Message', datum: 'message' },
        ]}
      />
    </SectionBox>
  );
}
