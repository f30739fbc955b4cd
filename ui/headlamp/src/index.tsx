import { Icon } from '@iconify/react';
import {
  registerKindIcon,
  registerKubeObjectGlance,
  registerMapSource,
  registerRoute,
  registerSidebarEntry,
} from '@kinvolk/headlamp-plugin/lib';
import { OperatorPage } from './components/OperatorPage';
import { Overview } from './components/Overview';
import { PlatformOperatorPage } from './components/PlatformOperatorPage';
import { ProbePage } from './components/ProbePage';
import { Glance, mapSource } from './map';

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

registerMapSource(mapSource);
registerKubeObjectGlance({ id: 'operators', component: Glance });
for (const [kind, icon, group] of [
  ['PlatformOperator', 'mdi:layers-triple-outline', 'platform.openshift.io'],
  ['Subscription', 'mdi:update', 'operators.coreos.com'],
  ['InstallPlan', 'mdi:clipboard-check-outline', 'operators.coreos.com'],
  ['ClusterServiceVersion', 'mdi:package-variant-closed', 'operators.coreos.com'],
  ['OperatorCondition', 'mdi:traffic-light-outline', 'operators.coreos.com'],
  ['Probe', 'mdi:stethoscope', 'operators.coreos.com'],
]) {
  registerKindIcon(kind, { icon: <Icon icon={icon} width="70%" height="70%" /> }, group);
}
