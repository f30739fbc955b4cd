import '@testing-library/jest-dom/vitest';
import '..';
import { setStore } from '@kinvolk/headlamp-plugin/lib/lib/router/createRouteURL';
import store from '@kinvolk/headlamp-plugin/lib/redux/stores/store';
import { composeStories } from '@storybook/react';
import { cleanup, configure, render, screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as stories from './pages.stories';

// A machine may be busy.
vi.setConfig({ testTimeout: 120_000 });
configure({ asyncUtilTimeout: 60_000 });

const composed = composeStories(stories);

// Links are those of a cluster's pages.
setStore(store);
window.history.pushState({}, '', '/c/main/operators');

afterEach(cleanup);

describe('stories', () => {
  it.each(Object.entries(composed))('%s looks as before', (name, Story) => {
    const { container } = render(<Story />);
    expect(textOf(container)).toMatchSnapshot();
  });
});

describe('the overview', () => {
  it('shows the operators that a count is about', async () => {
    render(<composed.Overview />);
    await userEvent.click(screen.getByRole('button', { name: '2 Broken' }));
    expect(screen.getByRole('link', { name: 'baz' })).toBeInTheDocument();
    expect(screen.queryByRole('link', { name: 'foo' })).not.toBeInTheDocument();
  });
});

describe('a button', () => {
  it('shows what it writes, and why that failed', async () => {
    render(<composed.Approve />);
    await userEvent.click(screen.getByRole('button', { name: 'Approve' }));
    const dialog = within(screen.getByRole('dialog'));
    expect(dialog.getByText(/"approved": true/)).toBeInTheDocument();
    await userEvent.click(dialog.getByRole('button', { name: 'confirm-button' }));
    expect(await screen.findByText('Approve failed: forbidden')).toBeInTheDocument();
  });
});

/** Returns the texts of a page with what they link to, a line each. Styles have names that change. */
function textOf(element: Element): string {
  const lines: string[] = [];
  const visit = (node: Node) => {
    if (node.nodeType === 3) {
      const link = node.parentElement?.closest('a')?.getAttribute('href');
      lines.push(`${node.textContent}${link ? ` (${link})` : ''}`);
    } else {
      node.childNodes.forEach(visit);
    }
  };
  visit(element);
  return lines.filter(l => l.trim()).join('\n');
}
