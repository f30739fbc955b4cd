import { K8s } from '@kinvolk/headlamp-plugin/lib';
import { makeCustomResourceClass } from '@kinvolk/headlamp-plugin/lib/Crd';
import { KubeObject, KubeObjectClass } from '@kinvolk/headlamp-plugin/lib/K8s/cluster';
import { Cluster, Deployment } from './inventory/objects';

type Field = Exclude<keyof Cluster, 'unread'>;

/** A kind of OLM or operator-status. */
export interface Kind {
  field: Field;
  /** As a message names it. */
  plural: string;
  class: KubeObjectClass;
  /** Whether a cluster with OLM alone does not have it. */
  ours: boolean;
}

function kind(
  field: Field,
  plural: string,
  group: string,
  version: string,
  isNamespaced = true,
  ours = false
): Kind {
  const pluralName = plural.toLowerCase();
  return {
    field,
    plural,
    ours,
    class: makeCustomResourceClass({
      apiInfo: [{ group, version }],
      kind: plural.replace(/s$/, ''),
      pluralName,
      singularName: pluralName.replace(/s$/, ''),
      isNamespaced,
    }),
  };
}

const olm = 'operators.coreos.com';

export const subscriptions = kind('subscriptions', 'Subscriptions', olm, 'v1alpha1');
export const installPlans = kind('installPlans', 'InstallPlans', olm, 'v1alpha1');
export const probes = kind('probes', 'Probes', olm, 'v1alpha1', true, true);
export const platformOperators = kind(
  'platformOperators',
  'PlatformOperators',
  'platform.openshift.io',
  'v1alpha1',
  false,
  true
);

/** The kinds that describe operators. */
export const kinds: Kind[] = [
  subscriptions,
  kind('clusterServiceVersions', 'ClusterServiceVersions', olm, 'v1alpha1'),
  installPlans,
  kind('catalogSources', 'CatalogSources', olm, 'v1alpha1'),
  kind('operatorConditions', 'OperatorConditions', olm, 'v2'),
  probes,
  platformOperators,
];

/** A kind that could not be read. */
export interface Unread {
  kind: Kind;
  /** Missing: the cluster does not have it. Forbidden: the user may not list it. */
  why: 'Missing' | 'Forbidden' | 'Failed';
  message: string;
}

export interface Loaded {
  /** Undefined until everything that OLM has was read, or could not be. */
  cluster?: Cluster;
  unread: Unread[];
  /** The objects as Headlamp has them, by kind. */
  objects: Map<Kind, KubeObject[]>;
}

/** Reads and watches the objects that describe operators, of one namespace or of all. */
export function useCluster(namespace?: string): Loaded {
  const out: Loaded = { unread: [], objects: new Map() };
  const cluster: Cluster = {};
  let pending = false;
  for (const k of kinds) {
    // Catalogs may be in another namespace. The order of hooks is that of kinds, which is constant.
    const everywhere = k.field === 'catalogSources' || k === platformOperators;
    // eslint-disable-next-line react-hooks/rules-of-hooks
    const { items, error } = k.class.useList(everywhere ? {} : { namespace });
    if (error && !items?.length) {
      out.unread.push({ kind: k, why: whyOf(error.status), message: error.message });
    } else if (items) {
      out.objects.set(k, items);
      (cluster[k.field] as unknown[]) = items.map(o => o.jsonData);
    } else {
      pending = pending || !k.ours;
    }
  }
  cluster.unread = out.unread.filter(u => u.why !== 'Missing').map(u => u.kind.plural);
  return { ...out, cluster: pending ? undefined : cluster };
}

function whyOf(status: number | undefined): Unread['why'] {
  if (status === 404) {
    return 'Missing';
  }
  return status === 403 ? 'Forbidden' : 'Failed';
}

/** Reads the Deployments of a namespace. They are left out of a tree while they cannot be read. */
export function useDeployments(namespace: string): Deployment[] {
  const { items } = K8s.ResourceClasses.Deployment.useList({ namespace });
  return (items ?? []).map(d => d.jsonData as unknown as Deployment);
}
