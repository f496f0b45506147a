/* SPDX-License-Identifier: Apache-2.0 */
/* The exported page in headless Chromium, beside what sonde report says of the same database. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { boxOf, clickBox, exportPage, makeDatabase, makeSample, open, pageTester, plain, rowsOf, settled, startBrowser, stopBrowser } from './page.mjs';

let browser;
let small;
let rows;
let formulas;
const MIX = 'mix=gpu-time/total(cpu-time)+count(cpu-time)/max(2,min(gpu-time)/1ms)';
let withFormula;
before(async () => {
	browser = await startBrowser();
	const database = makeDatabase('small');
	small = exportPage(database);
	rows = rowsOf(database);
	withFormula = exportPage(database, '--metric', 'load=gpu-time/cpu-time', '--metric', MIX);
	formulas = rowsOf(database, '--metric', `cpu-time,gpu-time,load=gpu-time/cpu-time,${MIX}`);
});
after(() => stopBrowser(browser));
const pageTest = pageTester(() => browser);

const sumOf = (row, metric, kind) => row.values[metric]?.[kind].sum ?? 0;
const pathOf = (row) => (row.parent === null ? [] : [...pathOf(rows[row.parent]), row.name]);
const shareText = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;

pageTest('the header says what was measured, and what is missing', () => small, '', async (page) => {
	const header = plain(await page.textContent('.header'));
	for (const part of ['train.py', 'python3 train.py', '600 ms', '3 threads', 'node0', '2.9 % of samples']) assert.ok(header.includes(part), part);
	await page.click('#loss-badge');
	assert.ok(plain(await page.textContent('.popover')).includes('unwind-truncated') ||
		plain(await page.textContent('.popover')).includes('outermost callers are unknown'));
});

pageTest('every context shows the values that the database has', () => small, '#detail=line', async (page) => {
	assert.ok(rows.length > 10);
	for (const row of rows.slice(1)) {
		const shown = await page.evaluate(async (path) => {
			const { app } = window.sonde;
			const { tree } = app;
			const nameOf = (n) => tree.profile.strings[tree.profile.frames.name[tree.frameOf(n)]];
			let node = 0;
			for (const name of path) {
				const { first, count } = tree.children(node);
				node = Array.from({ length: count }, (_, i) => first + i).find((child) => nameOf(child) === name) ?? -1;
				if (node < 0) return null;
			}
			app.zoomTo(node);
			return Object.fromEntries([...document.querySelectorAll('#details .metric')].map((table) => [table.dataset.metric,
				Object.fromEntries([...table.querySelectorAll('tbody tr')].map((line) =>
					[line.firstChild.textContent, [...line.querySelectorAll('td')].map((cell) => cell.dataset.value)]))]));
		}, pathOf(row));
		if (sumOf(row, 'cpu-time', 'inclusive') === 0) {
			assert.equal(shown, null, `${row.name} has no CPU time and is not drawn`);
			continue;
		}
		for (const metric of ['cpu-time', 'gpu-time']) {
			const values = row.values[metric];
			if (!values || values.inclusive.count === 0) {
				assert.equal(shown[metric], undefined);
				continue;
			}
			for (const [label, member] of [['Sum', 'sum'], ['Count', 'count'], ['Mean', 'mean'], ['Minimum', 'min'], ['Maximum', 'max'], ['Deviation', 'std']]) {
				const [inclusive, exclusive] = shown[metric][label];
				assert.ok(Math.abs(Number(inclusive) - values.inclusive[member]) < 1e-3, `${row.name} ${metric} inclusive ${label}`);
				if (values.exclusive.count > 0) assert.ok(Math.abs(Number(exclusive) - values.exclusive[member]) < 1e-3, `${row.name} ${metric} ${label}`);
			}
		}
	}
});

pageTest('formulas have at every context the values that sonde report gives', () => withFormula, '#detail=line&metric=cpu-time', async (page) => {
	let compared = 0;
	for (const row of formulas.filter((one) => sumOf(one, 'cpu-time', 'inclusive') > 0)) {
		const path = (one) => (one.parent === null ? [] : [...path(formulas.find(({ id }) => id === one.parent)), one.name]);
		const shown = await page.evaluate((names) => {
			const { app } = window.sonde;
			const { tree } = app;
			const nameOf = (n) => tree.profile.strings[tree.profile.frames.name[tree.frameOf(n)]];
			let node = 0;
			for (const name of names) {
				const { first, count } = tree.children(node);
				node = Array.from({ length: count }, (_, i) => first + i).find((child) => nameOf(child) === name);
			}
			app.zoomTo(node);
			return Object.fromEntries([...document.querySelectorAll('#details .formulas tbody tr')].map((line) =>
				[line.firstChild.textContent, [...line.querySelectorAll('td')].map((cell) => cell.dataset.value)]));
		}, path(row));
		for (const name of ['load', 'mix']) {
			['inclusive', 'exclusive'].forEach((scope, i) => {
				const expected = row.values[name]?.[scope];
				const value = shown[name]?.[i];
				if (expected === undefined) assert.equal(value, undefined, `${row.name} ${name} ${scope}`);
				else assert.ok(Math.abs(Number(value) - expected) <= 1e-9 * Math.abs(expected), `${row.name} ${name} ${scope}: ${value} ${expected}`);
				if (expected !== undefined) compared++;
			});
		}
	}
	assert.ok(compared > 20);
});

pageTest('a formula is chosen beside the metric that gives the widths', () => withFormula, '', async (page) => {
	const widths = () => page.evaluate(() => window.sonde.graph.boxes.flat().map(({ left, right }) => Math.round(right - left)));
	const chosen = () => page.$eval('#metric', (select) => select.selectedOptions[0].textContent);
	assert.equal(await chosen(), 'load'); /* the first that was named */
	assert.equal(plain(await page.textContent('#widths')), 'widths: gpu-time'); /* the first that it looks at */
	await page.selectOption('#metric', { label: 'cpu-time' });
	assert.ok(await page.isHidden('#widths'));
	const before = await widths();
	await page.selectOption('#metric', { label: 'load' });
	assert.equal(plain(await page.textContent('#widths')), 'widths: cpu-time');
	assert.match(await page.getAttribute('#widths', 'title'), /do not add up/);
	assert.deepEqual(await widths(), before);
	const address = await page.evaluate(() => location.hash);
	await page.selectOption('#metric', { label: 'mix' });
	assert.equal(await page.evaluate(() => location.hash), '#metric=cpu-time&formula=mix');
	await page.evaluate((hash) => { location.hash = hash; }, address);
	await page.waitForFunction(() => document.querySelector('#metric').selectedOptions[0].textContent === 'load');
	const disabled = await page.$$eval('#metric option:disabled', (options) => options.map((option) => option.textContent));
	assert.deepEqual(disabled, ['cpu_time_cv', 'cpu_time_imbalance'].map((name) => `${name} (needs values by profile)`));
	const { cpu, gpu } = { cpu: sumOf(rows[0], 'cpu-time', 'inclusive'), gpu: sumOf(rows[0], 'gpu-time', 'inclusive') };
	const root = await boxOf(page, []);
	await page.mouse.move(root.x + 30, root.y + 10);
	await page.waitForSelector('.tooltip:not([hidden])');
	assert.ok(plain(await page.textContent('.tooltip')).includes(`load${Number((100 * gpu / cpu).toPrecision(3))} %`));
});

pageTest('the search shows the share that it finds', () => small, '', async (page) => {
	const total = sumOf(rows[0], 'cpu-time', 'inclusive');
	for (const query of ['aten', 'native', 'train.py:31', 'worker_main']) {
		await page.fill('#search', query);
		await page.waitForFunction((text) => window.sonde.app.state.query === text, query);
		let found = 0;
		let until = -1;
		for (const row of rows.slice(1)) {
			const inside = until >= 0 && row.depth > until;
			if (!inside) until = -1;
			if (!inside && (row.name.includes(query) || `${row.file}:${row.line}`.includes(query))) {
				found += sumOf(row, 'cpu-time', 'inclusive');
				until = row.depth;
			}
		}
		assert.ok(found > 0, query);
		assert.equal(plain(await page.textContent('#found')), shareText(found, total), query);
	}
	await page.keyboard.press('Enter');
	assert.ok((await page.textContent('#details-name')).includes('worker_main'));
	await page.fill('#search', '(');
	await page.click('.toggle');
	await page.waitForFunction(() => document.querySelector('#found').textContent === 'invalid');
});

pageTest('a click zooms, Escape goes back, the address keeps the zoom', () => small, '', async (page) => {
	const path = ['<module>', 'train', 'aten::linear'];
	const before = await boxOf(page, path);
	await clickBox(page, path);
	const after = await boxOf(page, path);
	assert.ok(after.width > before.width * 1.5);
	assert.equal(plain(await page.textContent('#zoom-share')), shareText(before.weight, sumOf(rows[0], 'cpu-time', 'inclusive')));
	assert.match(await page.textContent('.breadcrumb'), /train.*linear/);
	assert.equal(await page.textContent('#details-name'), 'aten::linear');
	await page.reload();
	await page.waitForFunction(() => performance.getEntriesByName('sonde:shown').length > 0);
	assert.equal((await boxOf(page, path)).width, after.width);
	await clickBox(page, path.slice(0, 1));
	await page.keyboard.press('Escape');
	assert.equal((await boxOf(page, path)).width, after.width);
	await page.click('#reset');
	assert.equal((await boxOf(page, path)).width, before.width);
	assert.equal(new URL(page.url()).hash, '');
});

pageTest('bottom-up totals are the flat exclusive sums', () => small, '#detail=function&hot=functions', async (page) => {
	await page.keyboard.press('b');
	const flat = {};
	for (const row of rows) {
		const own = sumOf(row, 'cpu-time', 'exclusive');
		if (own > 0) flat[row.name] = (flat[row.name] ?? 0) + own;
	}
	const shown = await page.evaluate(() => {
		const { tree } = window.sonde.app;
		const { first, count } = tree.children(0);
		return Object.fromEntries(Array.from({ length: count }, (_, i) =>
			[tree.profile.strings[tree.profile.frames.name[tree.frameOf(first + i)]], tree.weight[first + i]]));
	});
	assert.deepEqual(shown, flat);
	const table = await page.$$eval('.spot', (buttons) => buttons.map((button) => Number(button.querySelector('.number').dataset.value)));
	assert.deepEqual(table.filter((own) => own > 0), Object.values(flat).sort((a, b) => b - a));
});

pageTest('switching the metric changes widths, totals and tables', () => small, '', async (page) => {
	await page.selectOption('#metric', { label: 'gpu-time' });
	assert.equal(await page.evaluate(() => window.sonde.app.tree.total), sumOf(rows[0], 'gpu-time', 'inclusive'));
	await page.click('button[data-value="count"]');
	assert.equal(await page.evaluate(() => window.sonde.app.tree.total), rows[0].values['gpu-time'].inclusive.count);
	assert.match(page.url(), /metric=gpu-time.*weigh=count/);
});

pageTest('folding a layer in the legend hides it and keeps the total', () => small, '#detail=function', async (page) => {
	await page.click('.chip[data-layer="native"]');
	assert.equal(await boxOf(page, ['start_thread']), undefined);
	const box = await boxOf(page, ['<module>', 'train', 'aten::linear']);
	const row = rows.find(({ name }) => name === 'aten::linear');
	assert.equal(box.weight, sumOf(row, 'cpu-time', 'inclusive'));
	assert.equal(await page.evaluate(() => window.sonde.app.tree.total), sumOf(rows[0], 'cpu-time', 'inclusive'));
});

pageTest('a hot spot marks its boxes, its callers can be shown', () => small, '#hot=functions', async (page) => {
	await page.click('.spot:has-text("sgemm_kernel")');
	assert.equal(await page.getAttribute('.spot:has-text("sgemm_kernel")', 'aria-pressed'), 'true');
	await page.keyboard.press('n');
	assert.equal(await page.textContent('#details-name'), 'sgemm_kernel');
	await page.click('.action:has-text("Callers")');
	assert.equal(await page.evaluate(() => window.sonde.app.state.direction), 'bottom-up');
	assert.ok(await boxOf(page, ['sgemm_kernel', 'at::native::linear(at::Tensor const&, at::Tensor const&)']) ||
		await boxOf(page, ['sgemm_kernel', 'at::native::linear']));
});

pageTest('the user\u2019s lines come first, with all that runs below them', () => small, '', async (page) => {
	/* train.py:31 calls operators that run library code; data.py:12 calls read(): db_fixture.h. */
	const shown = await page.$$eval('.spot', (buttons) => buttons.map((button) =>
		[button.querySelector('.spot-name').firstChild.textContent, Number(button.querySelector('.number').dataset.value) / 1e6]));
	assert.deepEqual(shown, [['train.py:31', 345], ['data.py:12', 50], ['train.py:40', 5]]);
});

pageTest('the keyboard reaches everything', () => small, '', async (page) => {
	await page.focus('#graph');
	for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
	const selected = () => page.textContent('#details-name');
	assert.equal(await selected(), 'train');
	await page.keyboard.press('ArrowRight');
	assert.equal(await selected(), 'load_batch');
	await page.keyboard.press('ArrowUp');
	assert.equal(await selected(), '<module>');
	await page.keyboard.press('Enter');
	assert.match(page.url(), /zoom=/);
	await page.keyboard.press('Home');
	assert.doesNotMatch(page.url(), /zoom=/);
	await page.keyboard.press('/');
	assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
	await page.keyboard.press('Escape');
	await page.keyboard.press('?');
	assert.ok(await page.isVisible('dialog.help'));
	await page.keyboard.press('Escape');
	assert.ok(!(await page.isVisible('dialog.help')));
	await page.keyboard.press('t');
	await page.keyboard.press('t');
	assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
});

pageTest('the browser\u2019s back and forward lead through the places looked at, and other looks are none', () => small, '', async (page) => {
	const zoomed = () => page.evaluate(() => window.sonde.app.state.zoom.length);
	const address = () => page.evaluate(() => location.hash);
	const path = ['<module>', 'train', 'aten::linear'];
	await clickBox(page, path.slice(0, 1));
	await page.click('button[data-value="count"]');
	const first = await address();
	await clickBox(page, path);
	assert.equal(await zoomed(), 3);
	await page.keyboard.press('b');
	await page.goBack();
	await page.waitForFunction(() => window.sonde.app.state.direction === 'top-down');
	assert.equal(await zoomed(), 3);
	await page.goBack();
	await page.waitForFunction((hash) => location.hash === hash && window.sonde.app.state.zoom.length === 1, first);
	assert.equal(await page.evaluate(() => window.sonde.app.state.measure), 'count');
	await page.goBack();
	await page.waitForFunction(() => window.sonde.app.state.zoom.length === 0);
	await page.goForward();
	await page.waitForFunction(() => window.sonde.app.state.zoom.length === 1);
	/* Escape is not led astray by where one was before. */
	await page.keyboard.press('Escape');
	assert.equal(await zoomed(), 0);
});

pageTest('Escape goes back from a zoom that is still under way', () => small, '', async (page) => {
	const { width } = await boxOf(page, ['<module>']);
	const zooms = await page.evaluate(() => {
		const { app, graph } = window.sonde;
		const press = () => document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
		app.zoomTo(graph.boxes[3][0].node);
		const under = [graph.moving, app.state.zoom.length];
		press();
		return [...under, app.state.zoom.length];
	});
	assert.deepEqual(zooms, [true, 3, 0]);
	assert.equal((await boxOf(page, ['<module>'])).width, width);
});

pageTest('a compiled computation lists the operations that it computes', () => makeSample('compiled'), '', async (page) => {
	const listed = async (name) => {
		await page.keyboard.press('Escape');
		await clickBox(page, ['main', 'jit_step', name]);
		return [plain(await page.textContent('#details h4')), await page.$$eval('.operations li', (items) => items.map((item) => item.textContent))];
	};
	assert.deepEqual(await listed('jit_step/fusion'), ['Computes 3 operations', ['sinstep.py:7', 'addstep.py:8', 'broadcast']]);
	assert.equal(await page.getAttribute('.operations li', 'title'), 'jit(step)/sin\n/home/ada/step.py:20 main\n/home/ada/step.py:8 step');
	assert.deepEqual(await listed('jit_step/dot'), ['Computes one operation', ['dot_generalstep.py:9']]);
	assert.ok((await page.textContent('.details-head')).includes('/home/ada/step.py:9'));
	await page.keyboard.press('Escape');
	await clickBox(page, ['main']);
	assert.equal(await page.$('.operations'), null);
});

pageTest('the page lists the source files that it holds lines of', () => makeSample('training'), '', async (page) => {
	assert.equal(plain(await page.textContent('#source-badge')), 'holds lines of 2 source files');
	await page.click('#source-badge');
	const list = plain(await page.textContent('#sources'));
	for (const file of ['/home/ada/model.py', '/home/ada/train.py']) assert.ok(list.includes(file), list);
});

pageTest('a page without source lines says nothing of them', () => small, '', async (page) => {
	assert.equal(await page.$('#source-badge'), null);
});

pageTest('on paper the picture is there, in light colours, and nothing overlaps', () => makeSample('training'), '', async (page) => {
	for (const _ of [1, 2]) await page.keyboard.press('t');
	assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
	await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
	await page.emulateMedia({ media: 'print' });
	await page.setViewportSize({ width: 720, height: 1000 });
	const seen = await page.evaluate(() => {
		const canvas = document.querySelector('.printed');
		const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
		const pixels = copy.getContext('2d', { willReadFrequently: true });
		pixels.drawImage(canvas, 0, 0);
		const at = (x, y) => [...pixels.getImageData(x, y, 1, 1).data].slice(0, 3);
		const box = (name) => document.querySelector(name).getBoundingClientRect();
		const rows = window.sonde.graph.boxes.length;
		return {
			rows, height: canvas.height, root: at(900, 4), below: at(canvas.width - 2, canvas.height - 3),
			wide: box('.printed').width / box('.left').width, screen: box('.scroller').height,
			order: ['.printed', '.legend', '.hotspots', '.details'].map(box).every(({ top, height }, i, all) =>
				height > 0 && (i === 0 || top >= all[i - 1].bottom - 0.5)),
			spots: [...document.querySelectorAll('.spot')].every((spot) => spot.getBoundingClientRect().bottom <= box('.details').top),
		};
	});
	assert.ok(seen.rows > 4);
	assert.equal(seen.height, seen.rows * 21 * 2);
	assert.deepEqual(seen.below, [255, 255, 255]);
	assert.notDeepEqual(seen.root, [255, 255, 255]);
	assert.ok(seen.wide > 0.97 && seen.screen === 0 && seen.order && seen.spots, JSON.stringify(seen));
	await page.emulateMedia({ media: 'screen' });
	await page.evaluate(() => dispatchEvent(new Event('afterprint')));
	assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
	assert.ok(await page.isHidden('.printed'));
});

pageTest('where all is folded away, or no path was measured, a sentence says so', () => small, '', async (page) => {
	for (const chip of await page.$$('.chip')) await chip.click();
	assert.match(await page.textContent('#empty'), /folded away/);
	await page.click('.chip[data-layer="native"]');
	assert.ok(await page.isHidden('#empty'));
	await page.fill('#search', 'no such function');
	await page.waitForFunction(() => document.querySelector('#found').textContent === 'no match');
});

for (const [width, height] of [[1280, 800], [1024, 700], [700, 900], [390, 800], [1920, 1080]]) {
	pageTest(`nothing is clipped at ${width} by ${height}`, () => small, '', async (page) => {
		await page.setViewportSize({ width, height });
		await page.waitForTimeout(100);
		assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
		assert.deepEqual(await page.$$eval('.tabs button', (tabs) => tabs.filter((tab) =>
			tab.getBoundingClientRect().right > tab.parentElement.getBoundingClientRect().right).map((tab) => tab.textContent)), []);
		const stage = await page.evaluate(() => document.querySelector('.stage').getBoundingClientRect().toJSON());
		for (const x of [stage.left + 2, stage.right - 3]) {
			await page.mouse.move(x, stage.top + 31);
			const tip = await page.evaluate(() => {
				const { left, right, top, bottom } = document.querySelector('.tooltip').getBoundingClientRect();
				return { inside: left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight, seen: right > left };
			});
			assert.deepEqual(tip, { inside: true, seen: true });
		}
	});
}

test('a metric without values says so and offers others', async () => {
	const { page, mishaps } = await open(browser, makeSample('training'), '#metric=gpu-copy');
	assert.match(await page.textContent('#empty'), /No values of gpu-copy/);
	await page.click('#empty button:has-text("cpu-time")');
	assert.ok(!(await page.isVisible('#empty')));
	assert.ok(await boxOf(page, ['main thread', '_start']));
	assert.deepEqual(mishaps, []);
});

test('what is too narrow to draw is added up, and a click shows it', async () => {
	const { page, mishaps } = await open(browser, makeSample('training'));
	const rest = () => page.evaluate(() => {
		const stage = document.querySelector('.stage').getBoundingClientRect();
		const box = window.sonde.graph.boxes.flat().find((one) => one.rest > 20);
		return box && { count: box.rest, weight: box.weight, x: stage.x + (box.left + box.right) / 2, y: stage.y + box.row * 21 + 10 };
	});
	const { count, weight, x, y } = await rest();
	assert.deepEqual([count, weight], [60, 60 * 5e6]); /* 60 helpers of one sample: samples.ts */
	await page.mouse.move(x, y);
	assert.match(await page.textContent('.tooltip'), /60 narrow boxes/);
	await page.mouse.click(x, y);
	await settled(page);
	assert.equal(await rest(), undefined);
	const box = await page.evaluate(() => window.sonde.graph.boxes[6].filter((one) => one.rest === 0 && one.left >= 0).length);
	assert.ok(box >= 10);
	await page.keyboard.press('Escape');
	await settled(page);
	assert.equal((await rest()).count, 60);
	assert.deepEqual(mishaps, []);
});

test('dragging and the wheel move the view, and are no clicks', async () => {
	const { page, mishaps } = await open(browser, makeSample('training'));
	const { left, top } = await page.evaluate(() => document.querySelector('.stage').getBoundingClientRect().toJSON());
	const first = () => page.evaluate(() => window.sonde.graph.boxes[0][0]);
	await page.mouse.move(left + 300, top + 50);
	await page.keyboard.down('Control');
	await page.mouse.wheel(0, -300);
	await page.keyboard.up('Control');
	const zoomed = await first();
	assert.ok(zoomed.right - zoomed.left > 1500 && zoomed.left < 0);
	await page.mouse.down();
	await page.mouse.move(left + 350, top + 50, { steps: 5 });
	await page.mouse.up();
	assert.ok(Math.abs((await first()).left - zoomed.left - 50) < 1.5);
	assert.equal(await page.evaluate(() => window.sonde.app.state.zoom.length), 0);
	assert.deepEqual(mishaps, []);
});

test('a stack of 5,000 frames scrolls, and its end can be zoomed to', async () => {
	const { page, mishaps } = await open(browser, makeSample('deep'));
	await page.evaluate(() => {
		const { app, graph } = window.sonde;
		app.zoomTo(graph.boxes.at(-1)[0].node);
	});
	const box = await boxOf(page, Array(5000).fill('recurse'));
	const stage = await page.evaluate(() => document.querySelector('.stage').getBoundingClientRect().toJSON());
	assert.ok(box.y > stage.top && box.y < stage.bottom);
	assert.deepEqual(mishaps, []);
});

test('a database without metrics says so', async () => {
	const { page, mishaps } = await open(browser, makeSample('empty'));
	assert.match(await page.textContent('#empty'), /Nothing was measured/);
	for (const key of ['b', 'm', 'ArrowDown', 'c', 'n', '0', 'Escape']) await page.keyboard.press(key);
	assert.deepEqual(mishaps, []);
});

test('an incomplete measurement says why', async () => {
	const { page, mishaps } = await open(browser, makeSample('incomplete'));
	assert.equal((await page.textContent('#loss-badge')).trim(), 'Incomplete');
	await page.click('#loss-badge');
	assert.equal(await page.textContent('.popover'), 'Incomplete: a part of the program was not measured: <half>.');
	assert.deepEqual(mishaps, []);
});

test('names that look like markup stay text', async () => {
	const { page, mishaps } = await open(browser, makeSample('hostile'));
	await page.focus('#graph');
	for (const key of ['ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
	assert.match(await page.textContent('#details-name'), /<\/script><img/);
	assert.equal(await page.evaluate(() => window.attacked), undefined);
	assert.deepEqual(mishaps, []);
});

test('damaged data gives a sentence instead of a page', async () => {
	const page = await browser.newPage();
	const { readFileSync, writeFileSync } = await import('node:fs');
	const broken = small.replace('small', 'broken');
	writeFileSync(broken, readFileSync(small, 'utf8').replace(/(data-encoding="[a-z]+">)[^<]*/, '$1AAAA'));
	await page.goto(`file://${broken}`);
	await page.waitForSelector('.failure:has-text("cannot be shown")');
	await page.close();
});

test('100,000 contexts', async () => {
	const database = makeDatabase('big', '--contexts', '100000');
	const { page, mishaps } = await open(browser, exportPage(database));
	assert.equal(await page.evaluate(() => window.sonde.app.model.profile.contexts.count), 100000);
	const direct = await page.evaluate(() => {
		const { app, graph } = window.sonde;
		const leaf = graph.boxes.flat().filter((box) => box.rest === 0).pop();
		app.zoomTo(leaf.node);
		return { load_ms: performance.getEntriesByName('sonde:load')[0].duration, boxes: graph.costs.boxes };
	});
	await page.keyboard.press('Escape');
	await page.keyboard.press('b');
	await page.fill('#search', 'function_1');
	await page.waitForFunction(() => document.querySelector('#found').textContent !== '');
	console.log(`100,000 contexts: loaded in ${direct.load_ms.toFixed(0)} ms, ${direct.boxes} boxes drawn`);
	assert.deepEqual(mishaps, []);
});
