import { makeCustomResourceClass } from '@kinvolk/headlamp-plugin/lib/Crd';
import { KubeObject } from '@kinvolk/headlamp-plugin/lib/K8s/cluster';
import K8s from '@kinvolk/headlamp-plugin/lib/K8s';
