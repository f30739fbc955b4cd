import { ApiProxy, K8s } from '@kinvolk/headlamp-plugin/lib';
import { makeCustomResourceClass } from '@kinvolk/headlamp-plugin/lib/Crd';
import { KubeObject, KubeObjectClass } from '@kinvolk/headlamp-plugin/lib/K8s/cluster';
import { useEffect, useMemo, useRef, useState } from 'react';
import { allKinds, Cluster, describe, Inventory, Kind, Operator } from './inventory/inventory';

/** The time between two reads of kinds that are not watched, in milliseconds. */
const interval = 15_000;

const ours = ['Probes', 'PlatformOperators', 'UpgradeHolds'];

/** Reports whether only operator-status has a kind. */
export function isOurs(k: Kind): boolean {
  return ours.includes(k.plural);
}

/** Returns Headlamp's class for a kind of custom resources. */
function classOf({ group, version, kind, plural, clusterScoped }: Kind): KubeObjectClass {
  const pluralName = plural.toLowerCase();
  return makeCustomResourceClass({
    apiInfo: [{ group, version }],
    kind,
    pluralName,
    singularName: kind.toLowerCase(),
    isNamespaced: !clusterScoped,
  });
}

/** The kinds that are watched: those of OLM and of operator-status. The others are read again and again. */
export const watched = allKinds
  .filter(k => !k.unwatched && !k.background)
  .map(k => ({ ...k, class: classOf(k) }));

const classes = new Map(watched.map(k => [k.plural, k.class]));

export const probeClass = classes.get('Probes') as KubeObjectClass;
export const platformOperatorClass = classes.get('PlatformOperators') as KubeObjectClass;

/** A kind that could not be read. */
export interface Unread {
  kind: Kind;
  /** Missing: the cluster does not have it. Forbidden: the user may not list it. */
  why: 'Missing' | 'Forbidden' | 'Failed';
  message: string;
}

export interface Loaded {
  /** Undefined until everything was read, or could not be. */
  cluster?: Cluster;
  /** Undefined until it is computed. */
  operators?: Operator[];
  unread: Unread[];
  /** Why the operators cannot be described. */
  failure?: Error;
  /** The objects that are watched as Headlamp has them, by the plural of their kind. */
  objects: Map<string, KubeObject[]>;
}

/**
 * Reads and watches the objects that describe operators, of one namespace or of all, and describes
 * these, with their trees if asked to.
 */
export function useOperators({
  namespace,
  trees,
}: {
  namespace?: string;
  trees?: boolean;
}): Loaded {
  const [inventory, setInventory] = useState<Inventory>();
  const [failure, setFailure] = useState<Error>();
  // The pages are about the first of several clusters.
  const [name] = K8s.useSelectedClusters();
  const polled = usePolled(name, namespace, inventory?.pods);
  const all = useWatched(name, namespace, polled?.unread ?? []);
  const unread = [...all.unread, ...(polled?.unread ?? []).filter(u => !isWatched(u.kind))];
  const cluster = useMemo(() => {
    if (all.pending || !polled) {
      return undefined;
    }
    const objects = Object.fromEntries(all.entries.map(([k, o]) => [k, o.map(o => o.jsonData)]));
    return {
      objects: { ...objects, ...polled.objects },
      unread: unread.filter(u => u.why !== 'Missing').map(u => u.kind.plural),
      namespace,
      pods: polled.pods,
      trees,
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [all.key, polled, namespace]);
  const done = (described: Inventory) => {
    setInventory(described);
    setFailure(undefined);
  };
  useLatest(cluster, done, setFailure);
  const operators = inventory?.operators;
  return { cluster, operators, unread, objects: new Map(all.entries), failure };
}

/** Describes the operators of a cluster whenever it has changed, one time after the other. */
function useLatest(
  cluster: Cluster | undefined,
  done: (inventory: Inventory) => void,
  failed: (error: Error) => void
) {
  const next = useRef<Cluster>();
  const busy = useRef(false);
  useEffect(() => {
    next.current = cluster;
    const go = async () => {
      busy.current = true;
      while (next.current) {
        const now = next.current;
        next.current = undefined;
        await describe(now).then(done, failed);
      }
      busy.current = false;
    };
    if (cluster && !busy.current) {
      void go();
    }
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [cluster]);
}

/** Watches kinds. Headlamp retries for seconds what cannot be read; known has that already. */
function useWatched(cluster: string | undefined, namespace: string | undefined, known: Unread[]) {
  const entries: [string, KubeObject[]][] = [];
  const unread: Unread[] = [];
  let pending = false;
  const key: unknown[] = [];
  for (const k of watched) {
    const query = { namespace: k.allNamespaces || k.clusterScoped ? undefined : namespace };
    // The order of hooks is that of kinds, which is constant.
    // eslint-disable-next-line react-hooks/rules-of-hooks
    const { items, error } = k.class.useList({ ...query, cluster, labelSelector: k.selector });
    key.push(items, error?.status);
    const failure = known.find(u => u.kind.plural === k.plural);
    if (items) {
      entries.push([k.plural, items]); // those of some namespaces, if there is an error
    }
    if (error) {
      unread.push({ kind: k, why: whyOf(error.status), message: error.message });
    } else if (failure && !items) {
      unread.push(failure);
    } else if (!items) {
      pending = true;
    }
  }
  return { entries, unread, pending, key: useVersion(key) };
}

/** Returns a number that changes whenever one of the values does. */
function useVersion(values: unknown[]): number {
  const last = useRef<{ values: unknown[]; version: number }>({ values: [], version: 0 });
  if (values.some((v, i) => v !== last.current.values[i])) {
    last.current = { values, version: last.current.version + 1 };
  }
  return last.current.version;
}

interface Polled {
  objects: Record<string, unknown[]>;
  unread: Unread[];
  /** The namespaces of which pods were read. */
  pods: string[];
}

/**
 * Reads the other kinds again and again, and those about pods in some namespaces. Of kinds that are
 * watched it finds out whether they can be read.
 */
function usePolled(
  cluster: string | undefined,
  namespace: string | undefined,
  pods: string[] = []
): Polled | undefined {
  const [out, setOut] = useState<Polled>();
  const of = pods.join(' ');
  useEffect(() => {
    let timer: number | undefined;
    let first = true;
    let left = false;
    const poll = async () => {
      // Nobody sees a page that is hidden.
      const read =
        first || !document.hidden
          ? await readAll(cluster, namespace, of ? of.split(' ') : [])
          : undefined;
      first = false;
      if (!left) {
        setOut(before => read ?? before);
        timer = window.setTimeout(poll, interval);
      }
    };
    void poll();
    return () => {
      left = true;
      window.clearTimeout(timer);
    };
  }, [cluster, namespace, of]);
  return out;
}

async function readAll(
  cluster: string | undefined,
  namespace: string | undefined,
  pods: string[]
): Promise<Polled> {
  const out: Polled = { objects: {}, unread: [], pods };
  const read = async (k: Kind, where?: string) => {
    try {
      const { items } = await ApiProxy.request(pathOf(k, where), { cluster, ...accepting(k) });
      if (!isWatched(k)) {
        out.objects[k.plural] = [...(out.objects[k.plural] ?? []), ...items];
      }
    } catch (error) {
      const { status, message } = error as { status?: number; message: string };
      if (!out.unread.some(u => u.kind === k)) {
        out.unread.push({ kind: k, why: whyOf(status), message });
      }
    }
  };
  await Promise.all(
    allKinds.flatMap(k => (k.pods ? pods.map(p => read(k, p)) : [read(k, namespace)]))
  );
  return out;
}

function isWatched(k: Kind): boolean {
  return classes.has(k.plural);
}

function pathOf(k: Kind, namespace?: string): string {
  const base = k.group ? `/apis/${k.group}/${k.version}` : `/api/${k.version}`;
  const where = namespace && !k.clusterScoped && !k.allNamespaces ? `/namespaces/${namespace}` : '';
  const query = new URLSearchParams({
    ...(k.selector && { labelSelector: k.selector }),
    ...(isWatched(k) && { limit: '1' }),
  });
  return `${base}${where}/${k.plural.toLowerCase()}?${query}`;
}

function accepting(k: Kind) {
  const metadata = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
  return k.metadata ? { headers: { Accept: metadata } } : {};
}

function whyOf(status: number | undefined): Unread['why'] {
  if (status === 404) {
    return 'Missing';
  }
  return status === 403 ? 'Forbidden' : 'Failed';
}
