import { Node } from './inventory';

const well = ['Succeeded', 'Complete', 'Available', 'Ready', 'Served', 'Not blocking', 'Running'];
const bad = ['Broken', 'Failed'];
const waiting = ['Held', 'Blocking', 'RequiresApproval', 'Pending', 'Installing', 'InstallReady'];

/** Returns how well an object is; empty if that is not known. */
export function levelOf({ name, state }: Node): 'success' | 'warning' | 'error' | '' {
  if (state.startsWith('Held=')) {
    return state === 'Held=True' ? 'warning' : '';
  }
  if (name.startsWith('Pod ')) {
    return 'warning'; // it would not be there if it was ready
  }
  if (well.includes(state) || state.endsWith('=True')) {
    return 'success';
  }
  if (bad.includes(state)) {
    return 'error';
  }
  return waiting.includes(state) || state.endsWith('=False') || /^\d+\/\d+$/.test(state)
    ? 'warning'
    : '';
}
