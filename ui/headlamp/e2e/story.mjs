// Plays a story in the pages of the plugin. e2e/ui/headlamp_test.go has set up the cluster, and checks
// afterwards that the operators were updated.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { serve } from './server.mjs';

const settings = JSON.parse(process.env.UI_TEST);
const timeout = 60_000;
let server, browser;

before(async () => {
  server = await serve(settings.shell, settings.plugin, settings.clusters);
  browser = await chromium.launch({ executablePath: settings.chromium, args: ['--no-sandbox'] });
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** Opens a page of the plugin as a user. A page that crashes fails the test. */
async function open(t, url, user = 'admin', height = 640) {
  const context = await browser.newContext({ viewport: { width: 1280, height } });
  const page = await context.newPage();
  page.setDefaultTimeout(timeout);
  const crashes = [];
  page.on('pageerror', error => crashes.push(error));
  t.after(async () => {
    await context.close();
    assert.deepEqual(crashes, []);
  });
  await page.goto(`${server.url}/c/${user}${url}`);
  return page;
}

/** Writes a screenshot for the documentation, if asked to. */
async function picture(page, name) {
  if (settings.pictures) {
    fs.mkdirSync(settings.pictures, { recursive: true });
    await page.mouse.move(0, 0);
    await page.screenshot({
      path: path.join(settings.pictures, `${name}.png`),
      animations: 'disabled',
    });
  }
}

/** Requests something of the API server as an admin. */
async function api(method, url, body) {
  const response = await fetch(`http://127.0.0.1:${settings.clusters.admin}${url}`, {
    method,
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: body && JSON.stringify(body),
  });
  assert.ok(response.ok, `${method} ${url}: ${response.status}`);
  return response.json();
}

const subscription = name =>
  `/apis/operators.coreos.com/v1alpha1/namespaces/${name}/subscriptions/${name}`;
const row = (page, name) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const button = (page, name) => page.getByRole('button', { name, exact: true });

test('the overview shows what is held, broken and waiting', async t => {
  const page = await open(t, '/operators');
  await row(page, 'database').getByText('Held').waitFor();
  assert.match(
    await row(page, 'database').innerText(),
    /Probe database\/database-operator\.v1\.0\.0/
  );
  assert.match(
    await row(page, 'mail').innerText(),
    /Failed[^]*Broken[^]*Deployment mail\/mail-operator \(and 1 more\)[^]*OLM/
  );
  assert.match(await row(page, 'search').innerText(), /Running[^]*True/);
  assert.match(await row(page, 'billing').innerText(), /Running[^]*Helm/);
  for (const [label, count] of [
    ['Operators', 6],
    ['Running', 5],
    ['Held', 3],
    ['Broken', 1],
    ['Waiting for approval', 1],
  ]) {
    await button(page, `${count} ${label}`).waitFor();
  }
  await picture(page, 'operators');

  await button(page, '1 Waiting for approval').click();
  await row(page, 'database').waitFor({ state: 'detached' });
  await row(page, 'cache').waitFor();
});

test('a user without permissions sees what is missing, and is offered nothing', async t => {
  const page = await open(t, '/operators/cache/cache', 'viewer');
  await page.getByText(/You may not list OperatorConditions, CatalogSources, /).waitFor();
  await page.getByText('is waiting for a user to approve it').first().waitFor();
  const review = page.waitForResponse(r => r.url().endsWith('selfsubjectaccessreviews'));
  await page.reload();
  assert.equal((await (await review).json()).status.allowed, false);
  await page.getByText('is waiting for a user to approve it').first().waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await button(page, 'Approve').count(), 0);
  // Headlamp gives up after three retries, with no objects.
  let refused = 0;
  const last = page.waitForResponse(
    r => /\/catalogsources(\?(?!.*limit)|$)/.test(r.url()) && r.status() === 403 && ++refused === 4
  );
  await page.reload();
  await last;
  await page.waitForLoadState('networkidle');
  await page.getByText(/You may not list OperatorConditions, CatalogSources, /).waitFor();
});

test('on a cluster with OLM alone, what waits is shown, and is approved by the button', async t => {
  const page = await open(t, '/operators', 'olm-alone');
  await row(page, 'alone').getByText('Held').waitFor();
  assert.match(await row(page, 'alone').innerText(), /InstallPlan operators\/install-/);
  await row(page, 'alone').getByRole('link', { name: 'alone', exact: true }).click();
  await button(page, 'Approve').click();
  await page.getByRole('dialog').getByLabel('confirm-button').click();
  await page.getByText('Nothing blocks it.').waitFor();
  await page.getByText('alone-operator.v1.0.0 Succeeded').waitFor();
});

test('the page of an operator of Helm shows its workload', async t => {
  const page = await open(t, '/operators/billing/billing');
  await page.getByText('Nothing blocks it.').waitFor();
  await page.getByText('Helm release billing/billing').waitFor();
  await page.getByText('Deployment billing/billing-operator').waitFor();
});

test('a Probe and a custom resource have pages', async t => {
  const page = await open(t, '/probes/database/database-operator.v1.0.0');
  await page.getByText('2, of which 2 block').waitFor();
  await page.getByRole('link', { name: 'Database database/orders' }).click();
  await page.getByText('Migrating').first().waitFor();
});

test('a PlatformOperator has a page', async t => {
  const page = await open(t, '/operators/search/search');
  await page.getByRole('link', { name: 'search', exact: true }).click();
  await page.getByRole('heading', { name: 'PlatformOperator search' }).waitFor();
  await page.getByRole('link', { name: 'Subscription search/search' }).waitFor();
});

test('the map shows what holds an update', async t => {
  const page = await open(t, '/operators/database/database', 'admin', 560);
  await page.getByRole('link', { name: 'Show on the map' }).click();
  const node = text => page.locator('.react-flow__node').filter({ hasText: text });
  await node('Subscription: Helddatabase').waitFor();
  await node('ClusterServiceVersion').waitFor();
  await node('Database: Blockingcustomers').waitFor();
  assert.equal(await node('queue').count(), 0, 'another operator is on the map');
  await page.getByTitle('Fit to screen').click();
  await node('Database: Blockingorders').hover();
  await node('Database: Blockingorders').getByText('!Migrating').waitFor();
  await picture(page, 'map');

  await node('Probe: Upgradeable=False').click();
  await page.getByText('NotUpgradeable').first().waitFor();
});

test('the page of an operator follows its custom resources', async t => {
  const page = await open(t, '/operators/database/database', 'admin', 1000);
  const blocking = page.getByRole('list', { name: 'Blocking custom resources' });
  await blocking.getByRole('link', { name: 'Database database/orders' }).waitFor();
  await blocking.getByRole('link', { name: 'Database database/customers' }).waitFor();
  await button(page, 'Override').waitFor();
  await page.getByText('database-operator.v1.0.0 Succeeded').waitFor();
  await picture(page, 'operator');

  await page.evaluate(() => {
    window.sameDocument = true;
  });
  const migrated = { status: { conditions: [{ type: 'Migrating', status: 'False' }] } };
  const resource = name =>
    `/apis/database.example.com/v1/namespaces/database/databases/${name}/status`;
  await api('PATCH', resource('orders'), migrated);
  await blocking
    .getByRole('link', { name: 'Database database/orders' })
    .waitFor({ state: 'detached' });
  await blocking.getByRole('link', { name: 'Database database/customers' }).waitFor();
  await api('PATCH', resource('customers'), migrated);
  await page.getByText('Nothing blocks it.').waitFor();
  await page.getByText('database-operator.v1.1.0 Succeeded').waitFor();
  assert.equal(await page.evaluate(() => window.sameDocument), true, 'the page was loaded again');
});

test('an update is approved by the button', async t => {
  const page = await open(t, '/operators/cache/cache');
  await button(page, 'Approve').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('"approved": true').waitFor();
  await picture(page, 'approve');
  await dialog.getByText('Cancel').click();
  await dialog.waitFor({ state: 'detached' });
  const { status } = await api('GET', subscription('cache'));
  const plan = `/apis/operators.coreos.com/v1alpha1/namespaces/cache/installplans/${status.installPlanRef.name}`;
  assert.notEqual(
    (await api('GET', plan)).spec.approved,
    true,
    'it was approved without a confirmation'
  );

  await button(page, 'Approve').click();
  await dialog.getByLabel('confirm-button').click();
  await page.getByText('Nothing blocks it.').waitFor();
  await button(page, 'Approve').waitFor({ state: 'detached' });
  assert.equal((await api('GET', plan)).spec.approved, true);
});

test('a hold is overridden by the button', async t => {
  const page = await open(t, '/operators/queue/queue');
  await button(page, 'Override').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('"operatorstatus.io/allow-upgrade": "queue-operator.v1.1.0"').waitFor();
  await dialog.getByLabel('confirm-button').click();
  await page.getByText('Nothing blocks it.').waitFor();
  const { metadata } = await api('GET', subscription('queue'));
  assert.equal(metadata.annotations['operatorstatus.io/allow-upgrade'], 'queue-operator.v1.1.0');
});
