import { registerRoute, registerSidebarEntry } from '@kinvolk/headlamp-plugin/lib';
import { OperatorPage } from './components/OperatorPage';
import { Overview } from './components/Overview';
import { PlatformOperatorPage } from './components/PlatformOperatorPage';
import { ProbePage } from './components/ProbePage';

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
