import {
  registerDetailsViewSection,
  registerRoute,
  registerSidebarEntry,
} from '@kinvolk/headlamp-plugin/lib';
import { OperatorPage } from './components/OperatorPage';
import { Overview } from './components/Overview';
import { ComposedResources, PlatformOperatorPage } from './components/PlatformOperatorPage';
import { ProbePage, ProbeResources } from './components/ProbePage';

registerSidebarEntry({
  parent: null,
  name: 'operators',
  label: 'Operators',
  icon: 'mdi:package-variant-closed',
  url: '/operators',
});

for (const { path, name, component } of [
  { path: '/operators', name: 'operators', component: Overview },
  { path: '/operators/:namespace/:name', name: 'operator', component: OperatorPage },
  { path: '/probes/:namespace/:name', name: 'probe', component: ProbePage },
  { path: '/platformoperators/:name', name: 'platformoperator', component: PlatformOperatorPage },
]) {
  registerRoute({ path, name, component, exact: true, sidebar: 'operators' });
}

// Headlamp shows custom resources as far as it knows them. This adds what it does not.
registerDetailsViewSection(({ resource }) => {
  switch (resource?.kind) {
    case 'Probe':
      return <ProbeResources probe={resource.jsonData} />;
    case 'PlatformOperator':
      return <ComposedResources op={resource.jsonData} />;
    default:
      return null;
  }
});
