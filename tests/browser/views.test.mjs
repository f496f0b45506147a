/* SPDX-License-Identifier: Apache-2.0 */
/* What the page draws, and where keys and pointer lead, on the database of tests/unit/db_fixture.h. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { boxOf, clickBox, exportPage, makeDatabase, makeSample, open, pageTester, plain, startBrowser, stopBrowser } from './page.mjs';

let browser;
let small;
before(async () => {
	browser = await startBrowser();
	small = exportPage(makeDatabase('small'));
});
after(() => stopBrowser(browser));
const pageTest = pageTester(() => browser);

const LINEAR = ['<module>', 'train', 'aten::linear'];
const KERNEL = [...LINEAR, 'at::native::linear(at::Tensor const&, at::Tensor const&)', 'sgemm_kernel'];

/* Red, green and blue of a canvas at a box: `across` from 0, its left end, to 1; `down` pixels. */
async function colourAt(page, names, across = 0.97, down = 4, canvas = '.base') {
	const box = await boxOf(page, names);
	return page.evaluate(([{ x, y, width }, part, below, selector]) => {
		const source = document.querySelector(selector);
		const copy = Object.assign(document.createElement('canvas'), { width: source.width, height: source.height });
		const context = copy.getContext('2d', { willReadFrequently: true });
		context.drawImage(source, 0, 0);
		const stage = document.querySelector('.stage').getBoundingClientRect();
		const density = source.width / stage.width;
		const right = Math.min(x + width, stage.right) - 3;
		const at = x + 2 + (right - x - 2) * part - stage.x;
		return [...context.getImageData(Math.round(at * density), Math.round((y - stage.y + below) * density), 1, 1).data].slice(0, 3);
	}, [box, across, down, canvas]);
}

const lightness = (colour) => colour.reduce((sum, part) => sum + part, 0);
const isRed = ([red, green, blue]) => red > 180 && green < 80 && blue < 80;
const FOUND = [255, 216, 61]; /* --found of the style sheet, light */

pageTest('what a search finds stands out, and all else fades', () => small, '', async (page) => {
	const usual = await colourAt(page, LINEAR);
	const other = await colourAt(page, ['start_thread']);
	await page.fill('#search', 'linear');
	await page.waitForFunction(() => window.sonde.app.state.query === 'linear');
	assert.deepEqual(await colourAt(page, LINEAR), FOUND);
	assert.ok(lightness(await colourAt(page, ['start_thread'])) > lightness(other) + 60);
	await page.fill('#search', '');
	await page.waitForFunction(() => window.sonde.app.state.query === '');
	assert.deepEqual(await colourAt(page, LINEAR), usual);
});

pageTest('the layer under the pointer keeps its colour, and gives the others theirs back', () => small, '', async (page) => {
	const [native, operator] = [await colourAt(page, ['start_thread']), await colourAt(page, LINEAR)];
	await page.hover('.chip[data-layer="native"]');
	assert.deepEqual(await colourAt(page, ['start_thread']), native);
	assert.ok(lightness(await colourAt(page, LINEAR)) > lightness(operator) + 60);
	await page.hover('.brand');
	assert.deepEqual(await colourAt(page, LINEAR), operator);
});

pageTest('colours of modules are others than those of layers', () => small, '', async (page) => {
	const before = await colourAt(page, KERNEL);
	await page.selectOption('#colour', 'module');
	const module = await colourAt(page, KERNEL);
	assert.notDeepEqual(module, before);
	await page.selectOption('#colour', 'layer');
	assert.deepEqual(await colourAt(page, KERNEL), before);
});

pageTest('a red bar lies below what is the box\u2019s own, at its right end', () => small, '', async (page) => {
	/* load_batch has 20 ms of its own, of 50: db_fixture.h; <module> has 5 of 400, which is less than 2 % of all */
	const bar = 18;
	assert.ok(isRed(await colourAt(page, ['<module>', 'load_batch'], 0.9, bar)));
	assert.ok(!isRed(await colourAt(page, ['<module>', 'load_batch'], 0.4, bar)));
	assert.ok(!isRed(await colourAt(page, ['<module>', 'load_batch'], 0.9, 4)));
	assert.ok(isRed(await colourAt(page, KERNEL, 0.2, bar)));
	assert.ok(!isRed(await colourAt(page, ['<module>'], 0.999, bar)));
});

pageTest('callers of what is zoomed are pale, the selected box has an outline', () => small, '', async (page) => {
	const before = await colourAt(page, ['<module>']);
	await clickBox(page, LINEAR);
	await page.mouse.move(5, 5);
	assert.ok(lightness(await colourAt(page, ['<module>'])) > lightness(before) + 60);
	const outline = await colourAt(page, LINEAR, 0.5, 1, '.over');
	assert.ok(outline[2] > 150 && outline[2] > outline[0] + 60, String(outline));
	assert.deepEqual(await colourAt(page, LINEAR, 0.5, 10, '.over'), [0, 0, 0]);
});

test('m and M lead through all metrics, on and back', async () => {
	const { page, mishaps } = await open(browser, makeSample('training'));
	const at = () => page.evaluate(() => window.sonde.app.state.metric);
	const metrics = await page.evaluate(() => window.sonde.app.model.profile.metrics.length);
	assert.ok(metrics >= 3, String(metrics));
	const first = await at();
	await page.focus('#graph');
	await page.keyboard.press('m');
	assert.equal(await at(), (first + 1) % metrics);
	for (const _ of [1, 2]) await page.keyboard.press('Shift+M');
	assert.equal(await at(), (first - 1 + metrics) % metrics);
	assert.deepEqual(mishaps, []);
	await page.close();
});

test('arrows scroll to what they select, down and up, and what is drawn there is right', async () => {
	const { page, mishaps } = await open(browser, makeSample('deep'));
	const where = () => page.evaluate(() => {
		const { graph, app } = window.sonde;
		const { scrollTop, clientHeight } = document.querySelector('.scroller');
		const top = app.tree.depth[graph.selectedNode] * 21;
		return { depth: app.tree.depth[graph.selectedNode], inside: top >= scrollTop && top + 21 <= scrollTop + clientHeight, scrollTop };
	});
	await page.focus('#graph');
	for (let i = 0; i < 61; i++) await page.keyboard.press('ArrowDown');
	const low = await where();
	assert.ok(low.depth === 60 && low.inside && low.scrollTop > 200, JSON.stringify(low));
	const white = [255, 255, 255];
	assert.notDeepEqual(await colourAt(page, Array(60).fill('recurse'), 0.5), white);
	for (let depth = 59; depth >= 5; depth--) {
		await page.keyboard.press('ArrowUp');
		const high = await where();
		assert.ok(high.depth === depth && high.inside && high.scrollTop > 0, JSON.stringify(high));
	}
	/* the path of a deep box ends in the box itself, in the line above the picture as well */
	await page.evaluate(() => window.sonde.app.zoomTo(window.sonde.graph.selectedNode));
	assert.equal(await page.$$eval('.crumb', (crumbs) => crumbs.at(-1).getAttribute('aria-current')), 'true');
	await page.evaluate(() => {
		const { app } = window.sonde;
		let node = 0;
		for (let i = 0; i < 1000; i++) node = app.tree.children(node).first;
		app.zoomTo(node);
	});
	assert.equal(await page.$$eval('.crumb', (crumbs) => crumbs.at(-1).getAttribute('aria-current')), 'true');
	assert.match(plain(await page.textContent('.crumb-gap')), /992 more/);
	assert.equal(await page.$$eval('.path .frame', (frames) => frames.at(-1).getAttribute('aria-current')), 'true');
	assert.match(plain(await page.textContent('.path .none')), /700 more frames/);
	assert.deepEqual(mishaps, []);
	await page.close();
});

pageTest('the note at the pointer has the total and the own cost', () => small, '', async (page) => {
	const box = await boxOf(page, ['<module>', 'load_batch']);
	await page.mouse.move(box.x + 10, box.y + 10);
	await page.waitForSelector('.tooltip:not([hidden])');
	const rows = await page.$$eval('.tooltip tr', (lines) => lines.map((line) => [...line.children].map((cell) => cell.textContent)));
	assert.deepEqual(rows.map((row) => row.map(plain)), [
		['Total', '50.0 ms', '10.0 %'], ['Own', '20.0 ms', '4.0 %'], ['Of the caller', '', '12.5 %']]);
});

pageTest('the details have the shares of everything and of the caller', () => small, '', async (page) => {
	await clickBox(page, ['<module>', 'load_batch']);
	await page.mouse.move(5, 5);
	const share = async (name) => plain(await page.textContent(`.metric.current tr:has(th:text-is("${name}")) td`));
	assert.equal(await share('Of everything'), '10.0 %');
	assert.equal(await share('Of the caller'), '12.5 %');
});

pageTest('hot spots are sorted by what is asked for, and their tabs turned by arrows', () => small, '#hot=functions', async (page) => {
	const shown = (column) => page.$$eval('.spot', (buttons, at) => buttons.map((button) => Number(button.querySelectorAll('.number')[at].dataset.value)), column);
	const falling = (values) => values.every((value, i) => i === 0 || value <= values[i - 1]);
	assert.ok(falling(await shown(0)) && !falling(await shown(1)));
	await page.click('.sorter:has-text("Total")');
	assert.ok(falling(await shown(1)) && !falling(await shown(0)));
	await page.focus('.tabs [aria-selected="true"]');
	const tabs = await page.$$eval('.tabs button', (all) => all.map((tab) => tab.dataset.category));
	const chosen = () => page.$eval('.tabs [aria-selected="true"]', (tab) => tab.dataset.category);
	await page.keyboard.press('ArrowRight');
	assert.equal(await chosen(), tabs[(tabs.indexOf('functions') + 1) % tabs.length]);
	await page.keyboard.press('ArrowLeft');
	await page.keyboard.press('ArrowLeft');
	assert.equal(await chosen(), tabs[(tabs.indexOf('functions') - 1 + tabs.length) % tabs.length]);
});

pageTest('keys go back as well as on, and those with Ctrl are the browser\u2019s', () => small, '', async (page) => {
	const state = (name) => page.evaluate((key) => window.sonde.app.state[key], name);
	await page.focus('#graph');
	await page.keyboard.press('Control+b');
	assert.equal(await state('direction'), 'top-down');
	for (const key of ['ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
	await page.keyboard.press('h');
	assert.notEqual(await state('marked'), null);
	await page.keyboard.press('h');
	assert.equal(await state('marked'), null);
	/* the matches, the costliest first, and back to the first */
	await page.fill('#search', 'ker');
	const names = [];
	for (const key of ['Enter', 'Enter', 'Shift+Enter']) {
		await page.press('#search', key);
		names.push(await page.textContent('#details-name'));
	}
	assert.deepEqual(names, ['sgemm_kernel', 'worker_main', 'sgemm_kernel']);
});
