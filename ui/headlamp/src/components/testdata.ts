// A cluster for stories and tests: foo is held by its Probe, bar waits for approval, baz has failed, and
// mail, which Helm installed, has no image. TestDescribe of internal/inventory describes its operators.

import { Cluster, Operator } from '../inventory/inventory';
import clusterAsRead from './cluster.json';
import inventory from './operators.json';

export const cluster = clusterAsRead as Cluster;
export const operators = inventory.operators as Operator[];
