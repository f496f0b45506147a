/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `sonde timeline` in headless Chromium, beside the JSON that it prints of the same trace. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open, pageTester, plain, startBrowser, stopBrowser, timelinePage } from './page.mjs';

const SCRIPT = '<script>alert(1)</script><b id="bad">&"\'';
const event = (cat, name, pid, tid, ts, dur, args = {}) => ({ ph: 'X', cat, name, pid, tid, ts, dur, args });
const call = (name, ts, dur, thread = 10) => event('cpu_op', name, 5, thread, ts, dur);
const launch = (correlation, ts) => event('cuda_runtime', 'cudaLaunchKernel', 5, 10, ts, 5, { correlation });
const kernel = (name, ts, dur, correlation) => event('kernel', name, 0, 7, ts, dur, { device: 0, context: 1, stream: 7, correlation });
const bytes = (at, total) => ({ ph: 'i', s: 't', cat: 'cpu_instant_event', name: '[memory]', pid: 5, tid: 10, ts: at,
	args: { 'Total Reserved': 4096, 'Total Allocated': total, Bytes: at === 100 ? 1024 : -512, Addr: 7 + at, 'Device Type': 1, 'Device Id': 0 } });

/* 40 operators of 20 µs, each of which launches a kernel of 5 to 44 µs; what is longest comes last. */
function training() {
	const events = [];
	for (let i = 0; i < 40; i++) {
		events.push(call(`aten::op${i}`, 100 * i, 20 + i), launch(i + 1, 100 * i + 5), kernel(`kernel_${i}<float>(int)`, 100 * i + 40, 5 + i, i + 1));
	}
	return [...events, bytes(100, 1024), bytes(900, 512)];
}

let browser;
let trained;
let hostile;
before(async () => {
	browser = await startBrowser();
	trained = timelinePage('training', training());
	hostile = timelinePage('hostile', [call(SCRIPT, 0, 100), launch(1, 10), kernel(`</script>${SCRIPT}`, 30, 30, 1)]);
});
after(() => stopBrowser(browser));
const pageTest = pageTester(() => browser);

const rowsOf = (page, key) => page.$$eval(`#${key} tbody tr`, (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
const hasOverflow = (page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

pageTest('every sheet is there, with its rows, notes and curves', () => trained.path, '', async (page) => {
	const sheets = Object.entries(trained.answer).filter(([, value]) => value && Array.isArray(value.notes));
	assert.ok(sheets.length > 12);
	assert.deepEqual(await page.$$eval('.sheet', (all) => all.map(({ id }) => id)), sheets.map(([key]) => key));
	for (const [key, { title, rows, notes }] of sheets) {
		assert.equal(plain(await page.textContent(`#${key} h2`)), title.replace(/ us\b/g, ' µs'));
		for (const note of notes) assert.ok((await page.textContent(`#${key}`)).includes(note), key);
		if (await page.$(`#${key} .plot`)) {
			assert.ok(rows.length > 1 && (await page.$$(`#${key} .plot path`)).length >= 1);
			continue;
		}
		const more = await page.$(`#${key} .more:not([hidden])`);
		if (more) await more.click();
		assert.equal((await rowsOf(page, key)).length, rows.length, key);
		/* texts as they are; numbers have units */
		const texts = rows.map((row) => Object.values(row).filter((value) => typeof value === 'string'));
		const shown = await rowsOf(page, key);
		texts.forEach((row, i) => row.forEach((text) => assert.ok(shown[i].includes(text), `${key} ${text}`)));
	}
	assert.ok(await page.$('#memory_0 .curve-2'));
	for (const [i, sentence] of trained.answer.sentences.entries())
		assert.equal(plain(await page.textContent(`.lead p:nth-child(${i + 1})`)).length, sentence.length - 2, sentence);
});

pageTest('first rows first, and all when they are asked for', () => trained.path, '', async (page) => {
	const all = trained.answer.critical_path.rows.length;
	assert.ok(all > 18);
	assert.equal((await rowsOf(page, 'critical_path')).length, 15);
	assert.equal(plain(await page.textContent('#critical_path .more')), `Show all ${all}`);
	await page.click('#critical_path .more');
	assert.equal((await rowsOf(page, 'critical_path')).length, all);
	assert.ok(await page.isHidden('#critical_path .more'));
});

pageTest('a head sorts the table, and shares have bars', () => trained.path, '', async (page) => {
	const column = async (i) => (await rowsOf(page, 'blame')).map((row) => row[i]);
	const before = await column(3);
	await page.click('#blame th:nth-child(4) button');
	assert.deepEqual((await column(3))[0], [...trained.answer.blame.rows].map(({ node }) => node).sort((a, b) => a.localeCompare(b))[0]);
	assert.equal(await page.getAttribute('#blame th:nth-child(4)', 'aria-sort'), 'ascending');
	await page.focus('#blame th:nth-child(4) button');
	await page.keyboard.press('Enter');
	assert.equal(await page.getAttribute('#blame th:nth-child(4)', 'aria-sort'), 'descending');
	await page.keyboard.press('Enter');
	assert.deepEqual(await column(3), before);
	const { share } = trained.answer.blame.rows[0];
	const bar = await page.$eval('#blame tbody .bar', (cell) => cell.style.getPropertyValue('--bar-length'));
	assert.equal(bar, `${(100 * share).toFixed(1)}%`);
});

pageTest('a search shows the rows that have it', () => trained.path, '', async (page) => {
	await page.keyboard.press('/');
	await page.keyboard.type('op39');
	const shown = await page.$$eval('.sheet:not([hidden])', (all) => all.map(({ id }) => id));
	assert.ok(shown.includes('blame') && !shown.includes('waits'), String(shown));
	for (const row of await rowsOf(page, 'blame')) assert.ok(row[3].includes('op39'));
	assert.match(plain(await page.textContent('#found')), /^\d+ rows$/);
	assert.equal((await page.$$('.contents li:not([hidden])')).length, shown.length);
	await page.fill('#search', 'no such name');
	assert.equal(await page.textContent('#found'), 'no match');
	assert.ok(await page.isVisible('.sheets > .none'));
	await page.keyboard.press('Escape');
	assert.equal((await page.$$('.sheet[hidden]')).length, 0);
	assert.equal(await page.inputValue('#search'), '');
});

pageTest('in the timeline the pointer names a box, and keys lead through them', () => trained.path, '', async (page) => {
	const place = await page.evaluate(() => {
		const { tracks } = window.sonde;
		const { left, top } = document.querySelector('#tracks').getBoundingClientRect();
		const { layout } = tracks;
		/* the last kernel: 44 of 3984 µs, which are nearly all there is */
		const boxes = layout.rows[0].track.boxes;
		return { x: left + layout.left + (layout.width * (boxes.at(-4) + boxes.at(-3))) / 2 / 1600, y: top + layout.rows[0].top + 5 };
	});
	await page.mouse.move(place.x, place.y);
	await page.waitForSelector('.tooltip:not([hidden])');
	const note = plain(await page.textContent('.tooltip'));
	assert.match(note, /kernel_39<float>\(int\).*GPU · device 0 · stream 7.*about 4\d(\.\d)? µs at 3\.9\d ms/);
	await page.mouse.move(2, 2);
	await page.focus('#tracks');
	await page.keyboard.press('ArrowRight');
	assert.match(await page.textContent('.spoken'), /kernel_0/);
	await page.keyboard.press('ArrowRight');
	assert.match(await page.textContent('.spoken'), /kernel_1</);
	await page.keyboard.press('ArrowDown');
	assert.match(await page.textContent('.spoken'), /aten::op2, Operators · thread 10/);
	await page.keyboard.press('Enter');
	assert.equal(await page.inputValue('#search'), 'aten::op2');
	await page.keyboard.press('Escape');
	assert.ok(await page.isHidden('.tooltip'));
});

pageTest('a curve tells its values at the pointer and by keys', () => trained.path, '', async (page) => {
	const caption = async () => plain(await page.textContent('#memory_0 figcaption'));
	assert.match(await caption(), /allocated up to 1\.00 KiB.*reserved up to 4\.00 KiB/);
	await page.focus('#memory_0 .plot');
	await page.keyboard.press('ArrowRight');
	assert.match(await caption(), /at 100 µs/);
	await page.keyboard.press('ArrowLeft');
	await page.evaluate(() => document.activeElement.blur());
	assert.match(await caption(), /up to/);
});

pageTest('names are text and nothing else', () => hostile.path, '', async (page) => {
	assert.equal(await page.$('#bad'), null);
	assert.ok((await page.textContent('.lead')).includes(SCRIPT));
	assert.ok((await rowsOf(page, 'path_steps')).flat().some((text) => text.includes(SCRIPT)));
});

pageTest('keys: theme, help, next table', () => trained.path, '', async (page) => {
	const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const light = await background();
	for (const _ of [1, 2]) await page.keyboard.press('t');
	assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
	assert.notEqual(await background(), light);
	await page.keyboard.press('?');
	assert.ok(await page.isVisible('dialog.help'));
	await page.keyboard.press('Escape');
	assert.ok(!(await page.isVisible('dialog.help')));
	await page.keyboard.press('n');
	const first = await page.evaluate(() => document.activeElement.id);
	await page.keyboard.press('n');
	const second = await page.evaluate(() => document.activeElement.id);
	await page.keyboard.press('N');
	assert.ok(first && second && first !== second);
	assert.equal(await page.evaluate(() => document.activeElement.id), first);
});

test('dark where the system is, and every width has room', async () => {
	for (const width of [1280, 400]) {
		const { page, mishaps } = await open(browser, trained.path);
		await page.emulateMedia({ colorScheme: 'dark' });
		await page.setViewportSize({ width, height: 800 });
		await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
		assert.ok(!(await hasOverflow(page)), String(width));
		/* names beside the rows or above them, and the picture as wide as there is room */
		const picture = await page.$eval('#tracks canvas', (canvas) => [canvas.getBoundingClientRect().right, canvas.height]);
		assert.ok(picture[0] <= width && picture[0] > width - 60 && picture[1] > 40, String(picture));
		assert.deepEqual(mishaps, []);
		await page.close();
	}
});

test('an address names a table', async () => {
	const { page } = await open(browser, trained.path, '#path_steps');
	assert.ok(await page.evaluate(() => document.querySelector('#path_steps').getBoundingClientRect().top < 200));
	await page.close();
});

test('where nothing is recorded, sentences say so', async () => {
	const { path } = timelinePage('gap', [call('first', 0, 10), call('last', 1000, 10)], '--from', '0.0001', '--to', '0.0005');
	const { page, mishaps } = await open(browser, path);
	assert.ok((await page.$$('#tracks canvas')).length === 1);
	assert.match(await page.textContent('#blame'), /Nothing of it is recorded/);
	assert.match(await page.textContent('#messages'), /no messages are recorded/);
	assert.deepEqual(mishaps, []);
	await page.close();
	const none = timelinePage('begin', [call('first', 500, 10), call('last', 1000, 10)], '--from', '5', '--to', '6');
	const after = await open(browser, none.path);
	assert.match(await after.page.textContent('.picture'), /Nothing is recorded in this part of the time/);
	await after.page.close();
});
