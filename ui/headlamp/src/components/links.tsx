import { Link } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { ReactNode } from 'react';
import { allKinds } from '../inventory/inventory';
import { Reference } from '../inventory/objects';

/** The CustomResourceDefinitions of the kinds that describe operators. */
export const definitions = Object.fromEntries(
  allKinds
    .filter(k => k.group.includes('.') && !k.group.endsWith('.k8s.io'))
    .map(k => [k.kind, `${k.plural.toLowerCase()}.${k.group}`])
);

/** The routes of this plugin and of Headlamp for other kinds. */
const routes: Record<string, string> = { Probe: 'probe', PlatformOperator: 'platformoperator' };

interface ObjectLinkProps {
  object: Reference & { resource?: string };
  children?: ReactNode;
}

/** A link to the page of an object, or its name where there is none. */
export function ObjectLink({ object, children }: ObjectLinkProps) {
  const { kind = '', namespace, name = '', resource } = object;
  const text = children ?? `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
  const crd = resource ?? definitions[kind];
  if (routes[kind] && !resource) {
    return (
      <Link routeName={routes[kind]} params={{ namespace, name }}>
        {text}
      </Link>
    );
  }
  if (crd) {
    return (
      <Link routeName="customresource" params={{ crd, namespace: namespace || '-', crName: name }}>
        {text}
      </Link>
    );
  }
  return <>{text}</>;
}

/** Returns the object that a text such as "Probe default/foo.v1.0.0" names. */
export function objectNamed(text: string): Reference {
  const [kind, path = ''] = text.split(' ');
  const [name, namespace] = path.split('/').reverse();
  return { kind, namespace, name };
}
