/* SPDX-License-Identifier: Apache-2.0 */
/* The page of causes in headless Chromium: graph, tables, bins, and brushes beside counts of the rows themselves. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { causesPage, open, pageTester, plain, startBrowser, stopBrowser } from './page.mjs';

const SCRIPT = '<script>alert(1)</script><b id="bad">&"\'';
const LONG = `${'x'.repeat(100)}middle${'y'.repeat(100)}`;
const edge = (from, to, more = {}) => ({ from, to, directed: true, sign: 1, effect: 0.42, effect_low: 0.31, effect_high: 0.55, frequency: 0.97, share: 0.34, ...more });
const none = { sign: 0, effect: null, effect_low: null, effect_high: null };
const graph = {
	nodes: ['gridX', 'copyKind', 'dram_bytes', 'duration', 'clock'],
	edges: [edge('gridX', 'dram_bytes', { share: 0.6 }), edge('dram_bytes', 'duration', { effect: -0.3, effect_low: -0.4, effect_high: -0.2, share: 0.2 }),
		edge('copyKind', 'duration', { ...none, share: 0.05, frequency: 0.6 }), edge('clock', 'dram_bytes', { directed: false, share: null })],
	undetermined: [{ from: 'clock', to: 'dram_bytes', directed: false }],
	baselines: { sort_by_variance: ['dram_bytes', 'gridX'], r2_sort: [{ name: 'gridX', r2: 0.5 }], empty_graph: [] },
};
const nodes = graph.nodes.map((name, i) => ({ name, tier: [0, 0, 1, 2, 1][i], kind: name === 'copyKind' ? 'category' : 'number' }));
const kernels = Array.from({ length: 24 }, (_, i) => ({ name: `void kernel_${i}<float>(int)`, configuration: `grid ${2 ** i}`, count: 10 + i, mean_ns: 1000 * (i + 1), std_ns: 10, cv: 0.01, p50: 1000, p99: 2000, outliers: i, drift: -0.1 }));
/* As the command has them: the whole range in steps, here of two bins, and the five bins that vary most. */
const deviations = Array.from({ length: 1500 }, (_, i) => ([250, 750, 1250].includes(i) ? 1e5 - i : i % 100 === 99 ? null : 1e4 + i % 7));
const overTime = { start_ns: 1.7e18, bins: 3000, bins_each: 2, step_ns: 2e7, std_ns: deviations, adjusted: deviations };
const bins = [250, 750, 1250, 6, 13].map((step, i) => ({ start_ns: 1.7e18 + step * 2e7, end_ns: 1.7e18 + step * 2e7 + 1e7, variance: deviations[step] ** 2, rank: i + 1 }));

/* 20,000 rows: start, kernel of 40, copy kind with missing ones, size with zeros. */
function makeRows() {
	let state = 1;
	const random = () => {
		state = (state * 1103515245 + 12345) % 2147483648;
		return state / 2147483648;
	};
	return Array.from({ length: 20000 }, (_, i) => {
		const kernel = Math.floor(40 * random() ** 2);
		return [i * 1e6, kernel, random() < 0.1 ? NaN : Math.floor(3 * random()), random() < 0.3 ? 0 : 2 ** (8 + 10 * random()), 1000 * (kernel + 1) * (1 + random())];
	});
}
const axes = ['axis linear 0 19999000000 ns start', 'axis category nan nan - kernel', 'axis category nan nan - copy kind', 'axis log nan nan bytes size', 'axis log nan nan ns duration',
	...Array.from({ length: 40 }, (_, i) => `category 1 void kernel_${i}<float>(int)`), ...['HtoD', 'DtoH', 'DtoD'].map((kind) => `category 2 ${kind}`)];

let browser;
let full;
let rows;
let hostile;
let nothing;
before(async () => {
	browser = await startBrowser();
	rows = makeRows();
	full = causesPage('full', {
		title: 'traces', sentences: ['Which kernel varies: kernel_3 does.', 'It has a cause.'], tiers: ['configuration', 'counters', 'result'], graph, nodes, target: 3,
		variability: { kernels, bins, bins_ranked_by: 'duration_ns', over_time: overTime }, axes, rows,
	});
	const names = { nodes: [SCRIPT, LONG], edges: [edge(SCRIPT, LONG)], undetermined: [SCRIPT], baselines: { [SCRIPT]: [SCRIPT] } };
	hostile = causesPage('hostile', { title: SCRIPT, sentences: [SCRIPT], graph: names, nodes: names.nodes.map((name) => ({ name })), target: 1,
		variability: { kernels: [{ name: SCRIPT }] }, axes: [`axis linear nan nan 1 ${SCRIPT}`, 'axis category nan nan - b', `category 1 ${SCRIPT}`], rows: [[1, 0], [2, 0]] });
	const shuffled = { nodes: graph.nodes, edges: [], undetermined: [], baselines: {} };
	nothing = causesPage('nothing', { graph: shuffled, nodes, target: 3, axes: ['axis linear nan nan 1 a', 'axis log nan nan 1 b'], rows: [] });
});
after(() => stopBrowser(browser));
const pageTest = pageTester(() => browser);

const rowsOf = (page, key) => page.$$eval(`#${key} tbody tr`, (all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
const faded = (page, kind) => page.$$eval(`#graph [id^="${kind}-"]`, (all) => all.filter((one) => one.classList.contains('faded')).map(({ id }) => Number(id.split('-')[1])).sort());

pageTest('all parts are there', () => full, '', async (page) => {
	assert.deepEqual(await page.$$eval('.lead p', (all) => all.map(({ textContent }) => textContent)), ['Which kernel varieskernel_3 does.', 'It has a cause.']);
	assert.equal((await page.$$('#graph .arrow')).length, 4);
	assert.equal((await page.$$('#graph .variable')).length, 5);
	assert.deepEqual((await rowsOf(page, 'edges'))[1].map(plain), ['dram_bytes', '→', 'duration', '−0.3', '−0.4 to −0.2', '20.0 %', '97.0 %']);
	assert.deepEqual((await rowsOf(page, 'baselines'))[0], ['gridX → dram_bytes', 'dram_bytes', 'gridX (0.5)', 'none']);
	assert.deepEqual(await rowsOf(page, 'undetermined'), [['clock – dram_bytes']]);
	await page.click('#kernels .more');
	assert.deepEqual((await rowsOf(page, 'kernels'))[3].slice(0, 4).map(plain), ['void kernel_3<float>(int)', 'grid 8', '13', '4.00 µs']);
	assert.deepEqual((await rowsOf(page, 'top_bins')).slice(0, 2).map((row) => row.map(plain)), [['1', '5.00 s', '10.0 ms', '99.8 µs'], ['2', '15.0 s', '10.0 ms', '99.3 µs']]);
	assert.deepEqual(await page.$$eval('.facts div', (all) => all.map(({ textContent }) => textContent.replace(/\s/g, ''))), ['Variables5', 'Edges4', 'Bins3000', 'Rows20000']);
	const links = await page.$$eval('.contents a', (all) => all.map((one) => one.getAttribute('href').slice(1)));
	for (const id of links) assert.ok(await page.$(`#${id}`), id);
	assert.ok(links.includes('graph') && links.includes('parallel') && links.includes('kernels'));
});

/* Where the middle of an arrow is on the screen. */
const middleOf = (page, number) => page.$eval(`#arrow-${number} .hit`, (path) => {
	const { x, y } = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
	return { x, y };
});

pageTest('at an arrow stand its effect, interval, share and frequency', () => full, '', async (page) => {
	const tell = async (number) => {
		const { x, y } = await middleOf(page, number);
		await page.mouse.move(x, y);
		await page.waitForSelector('.tooltip:not([hidden])');
		return plain(await page.$eval('.tooltip:not([hidden])', (note) => note.textContent));
	};
	assert.equal(await tell(1), 'dram_bytes → durationEffect−0.395 % of the samples−0.4 to −0.2Explains of the variance20.0 %In samples97.0 %');
	assert.equal(await tell(2), 'copyKind → durationEffectno signExplains of the variance5.0 %In samples60.0 %');
	assert.match(await tell(3), /^clock – dram_bytes/);
	await page.hover('#variable-2');
	assert.equal(await page.$eval('.tooltip:not([hidden])', (note) => note.textContent), 'dram_bytesdirect causes: 1, direct effects: 1');
	await page.mouse.move(2, 2);
	assert.equal(await page.$('.tooltip:not([hidden])'), null);
});

pageTest('a chosen variable shows its causes and effects alone', () => full, '', async (page) => {
	await page.click('#variable-0');
	assert.deepEqual([await faded(page, 'arrow'), await faded(page, 'variable')], [[2, 3], [1, 4]]);
	assert.match(await page.textContent('#chosen'), /causes and effects of gridX/);
	await page.click('#variable-1');
	assert.deepEqual([await faded(page, 'arrow'), await faded(page, 'variable')], [[0, 1, 3], [0, 2, 4]]);
	await page.click('#variable-1');
	assert.deepEqual([await faded(page, 'arrow'), await faded(page, 'variable')], [[], []]);
	await page.focus('#variable-4');
	await page.keyboard.press('Enter');
	assert.deepEqual(await faded(page, 'arrow'), [0, 1, 2]);
	assert.equal(await page.getAttribute('#variable-4', 'aria-pressed'), 'true');
	await page.keyboard.press('Escape');
	assert.deepEqual(await faded(page, 'arrow'), []);
});

/* Drags along an axis from one height to another, both from 0 below to 1 above. */
async function drag(page, axis, from, to) {
	await page.$eval('#coordinates', (stage) => stage.scrollIntoView({ block: 'center' }));
	const at = await page.$eval('#coordinates', (stage, [axis, from, to]) => {
		const { left, top, width, height } = stage.getBoundingClientRect();
		const y = (place) => top + height - 12 - place * (height - 34 - 12);
		return { x: left + 60 + ((width - 120) * axis) / 4, from: y(from), to: y(to) };
	}, [axis, from, to]);
	await page.mouse.move(at.x, at.from);
	await page.mouse.down();
	if (from !== to) await page.mouse.move(at.x, at.to, { steps: 3 });
	await page.mouse.up();
}
const brushedRows = async (page) => {
	const text = plain(await page.textContent('#brushed'));
	return { text, rows: Number(/^Brushed: ([\d ]+) of 20 000 rows/.exec(text)?.[1].replaceAll(' ', '')) };
};
/* The ends of what is brushed, in the numbers of the rows. */
const brushEnds = (page, axis) => page.evaluate((axis) => {
	const { bins } = window.sonde.parallel.axes[axis];
	const [first, last] = window.sonde.store.state.brushes.get(axis);
	const held = bins.filter(({ group }) => group >= first && group <= last);
	return { low: held[0].low, high: held.at(-1).high, names: held.map(({ name }) => name) };
}, axis);

pageTest('a brush holds as many rows as there are', () => full, '', async (page) => {
	assert.equal(plain(await page.textContent('#brushed')), '20 000 rows');
	await drag(page, 0, 0.3, 0.62);
	const start = await brushEnds(page, 0);
	assert.ok(start.low > 0 && start.high < 2e10 && start.high - start.low > 2e9, JSON.stringify(start));
	const inStart = rows.filter(([value]) => value >= start.low && value < start.high);
	assert.equal((await brushedRows(page)).rows, inStart.length);
	/* on a second axis as well: the rows within both */
	await drag(page, 4, 0.5, 0.95);
	const duration = await brushEnds(page, 4);
	const inBoth = inStart.filter((row) => row[4] >= duration.low && row[4] < duration.high);
	assert.ok(inBoth.length > 100 && inBoth.length < inStart.length);
	assert.equal((await brushedRows(page)).rows, inBoth.length);
	await page.click('#clear-brushes');
	assert.equal(plain(await page.textContent('#brushed')), '20 000 rows');
	assert.ok(await page.isHidden('#clear-brushes'));
});

pageTest('a click brushes a category, zeros or what is missing, and takes it away', () => full, '', async (page) => {
	await drag(page, 2, 0.99, 0.99);
	const { names } = await brushEnds(page, 2);
	assert.equal(names.length, 1);
	const kind = ['HtoD', 'DtoH', 'DtoD'].indexOf(names[0]);
	assert.equal((await brushedRows(page)).rows, rows.filter((row) => row[2] === kind).length);
	await drag(page, 2, 0.99, 0.99);
	assert.equal(plain(await page.textContent('#brushed')), '20 000 rows');
	await drag(page, 2, 0.01, 0.01);
	assert.match((await brushedRows(page)).text, /copy kind: missing$/);
	assert.equal((await brushedRows(page)).rows, rows.filter((row) => Number.isNaN(row[2])).length);
	await drag(page, 3, 0.005, 0.005);
	assert.match((await brushedRows(page)).text, /size: 0 or less$/);
	assert.equal((await brushedRows(page)).rows, rows.filter((row) => Number.isNaN(row[2]) && row[3] === 0).length);
	await page.keyboard.press('Escape');
	await drag(page, 1, 0.01, 0.01);
	assert.match((await brushedRows(page)).text, /kernel: other$/);
	const counts = Array.from({ length: 40 }, (_, kernel) => rows.filter((row) => row[1] === kernel).length).sort((a, b) => b - a);
	assert.equal((await brushedRows(page)).rows, counts.slice(30).reduce((a, b) => a + b));
});

/* The colour of a point of the parallel coordinates, in the middle between two axes. */
const colourAt = (page, gap, place) => page.$eval('#coordinates canvas', (canvas, [gap, place]) => {
	const scale = canvas.width / canvas.clientWidth;
	const x = 60 + ((canvas.clientWidth - 120) * (gap + 0.3)) / 4;
	const y = canvas.clientHeight - 12 - place * (canvas.clientHeight - 46);
	const copy = document.createElement('canvas').getContext('2d');
	copy.drawImage(canvas, -Math.round(x * scale), -Math.round(y * scale));
	return [...copy.getImageData(0, 0, 1, 1).data];
}, [gap, place]);

pageTest('what is brushed stands out in the picture', () => full, '', async (page) => {
	const before = await colourAt(page, 0, 0.7);
	assert.ok(before[2] > before[0] + 50 && before[3] > 0, String(before));
	await drag(page, 0, 0.1, 0.4);
	const [within, outside] = [await colourAt(page, 0, 0.3), await colourAt(page, 0, 0.7)];
	assert.ok(within[2] > within[0] + 50, String(within));
	assert.ok(Math.abs(outside[2] - outside[0]) < 40, String(outside));
});

pageTest('the page says that no row is left out, and how fine a brush is', () => full, '', async (page) => {
	const remark = plain(await page.textContent('#parallel .remark'));
	assert.match(remark, /All 20 000 rows are in the picture; none is left out or sampled/);
	const groups = await page.evaluate(() => window.sonde.parallel.axes.map(({ bins, group_count }) => [bins.length, group_count]));
	for (const [all, count] of groups) if (count < all) assert.ok(remark.includes(`${all} bins in ${count}`), remark);
});

pageTest('the strip names the bin at the pointer and marks the first five', () => full, '', async (page) => {
	await page.$eval('#strip', (stage) => stage.scrollIntoView({ block: 'center' }));
	const at = await page.$eval('#strip', (stage) => {
		const { left, top, width } = stage.getBoundingClientRect();
		return { x: left + (width * 750.5) / 1500, y: top + 60 };
	});
	await page.mouse.move(at.x, at.y);
	await page.waitForSelector('.tooltip:not([hidden])');
	assert.match(plain(await page.$eval('.tooltip:not([hidden])', (note) => note.textContent)), /^15\.0 s to 15\.0 sstandard deviation 99\.3 µs, rank 2$/);
	const red = await page.$eval('#strip canvas', (canvas) => {
		const { data } = canvas.getContext('2d').getImageData(0, 60, canvas.width, 1);
		return Array.from({ length: canvas.width }, (_, x) => x).filter((x) => data[4 * x] > 150 && data[4 * x + 1] < 80).map((x) => Math.round((3000 * x) / canvas.width));
	});
	for (const bin of [500, 1500, 2500]) assert.ok(red.some((one) => Math.abs(one - bin) <= 4), `${bin} of ${red}`);
	assert.ok(red.length <= 6, String(red));
});

test('dark where the page is dark, whatever the system is, and every width has room', async () => {
	for (const [width, system] of [[1280, 'dark'], [400, 'light']]) {
		const { page, mishaps } = await open(browser, full);
		await page.emulateMedia({ colorScheme: system });
		await page.setViewportSize({ width, height: 800 });
		const colour = () => page.$eval('#arrow-0 .line', (line) => getComputedStyle(line).stroke);
		const wait = (theme) => page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, theme);
		await wait(system);
		const first = await colour();
		for (let i = 0; i < (system === 'dark' ? 1 : 2); i++) await page.keyboard.press('t');
		await wait(system === 'dark' ? 'light' : 'dark');
		const second = await colour();
		assert.deepEqual([first, second].sort(), ['rgb(20, 24, 31)', 'rgb(238, 241, 245)']);
		assert.equal(first === 'rgb(238, 241, 245)', system === 'dark');
		assert.ok(!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)), String(width));
		assert.deepEqual(mishaps, []);
		await page.close();
	}
});

pageTest('on paper all arrows are there, dark ones too, and what is for the pointer alone is not', () => full, '', async (page) => {
	await page.emulateMedia({ media: 'print' });
	for (let i = 0; i < 4; i++) assert.ok(await page.isVisible(`#arrow-${i} .line`), String(i));
	assert.ok(await page.isHidden('#chosen') && await page.isHidden('.contents'));
	assert.ok(await page.isVisible('#coordinates canvas'));
});

pageTest('where there is little room, labels of numbers stay whole and the picture is scrolled', () => full, '', async (page) => {
	await page.setViewportSize({ width: 400, height: 800 });
	assert.ok(await page.$eval('#coordinates', (stage) => stage.clientWidth >= 760 && stage.parentElement.clientWidth <= 400));
	assert.ok(!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)));
});

pageTest('names are text and nothing else', () => hostile, '', async (page) => {
	assert.equal(await page.$('#bad'), null);
	assert.equal(await page.textContent('h1'), SCRIPT);
	assert.equal(await page.textContent('.lead p'), SCRIPT);
	assert.match(await page.textContent('#variable-0 text'), /^<script>alert.*…/);
	await page.hover('#variable-1');
	assert.ok((await page.$eval('.tooltip:not([hidden])', (note) => note.textContent)).startsWith(LONG));
	assert.ok((await rowsOf(page, 'kernels')).flat().includes(SCRIPT));
});

pageTest('nothing found is said, and what is not there is not shown', () => nothing, '', async (page) => {
	assert.match(await page.textContent('#graph'), /Nothing found: no edge between the 5 variables/);
	assert.match(await page.textContent('#edges'), /Nothing found/);
	assert.deepEqual(await rowsOf(page, 'baselines'), [['none']]);
	assert.match(await page.textContent('#parallel'), /There are no rows/);
	for (const id of ['kernels', 'bins', 'top_bins', 'undetermined']) assert.equal(await page.$(`#${id}`), null);
});

test('a page of one part alone', async () => {
	const pages = [[causesPage('empty', {}), /There is nothing to show/], [causesPage('only-kernels', { variability: { kernels } }), /kernel_3/],
		[causesPage('only-bins', { variability: { bins, over_time: overTime } }), /Variation over time/],
		[causesPage('of-a-target', { variability: { bins, bins_ranked_by: 'log_squared_residual', over_time: { ...overTime, target_std: deviations.map(() => 2.5) } } }), /standard deviation of log_squared_residual in a bin, up to 2.50\./], [causesPage('only-graph', { graph, nodes }), /gridX/],
		[causesPage('no-picture', { variability: { graph } }), /gridX/]];
	for (const [path, expected] of pages) {
		const { page, mishaps } = await open(browser, path);
		assert.match(await page.textContent('main'), expected);
		assert.deepEqual(mishaps, []);
		await page.close();
	}
});

/* What `sonde variability --format json` says of a kernel. */
const whole = (i) => ({ name: `void at::native::vectorized_elementwise_kernel_${i}<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3>>(int, float*)`,
	configuration: 'grid 1024x1024x64 block 1024x1x1 shared 49152', grid: [1024, 1024, 64], block: [1024, 1, 1], shared_bytes: 49152, communication: false, count: 123456 + i, mean_ns: 123456,
	std_ns: 12345, cv: 0.1, min_ns: 1, p25: 1, p50: 123456, p75: 1, p90: 1, p99: 654321, max_ns: 1, quantile_error: 0, log_mad: 0.1, variation_ns: 1, log_variance: 0.01, outliers: 12345,
	outliers_above: 12, drift: -12.5, drift_low: -13, drift_high: -12, drift_p: 0.001, drift_significant: true, changes: [], places: [{ place: 'rank 0 device 0', count: 3 }] });

test('which kernel varies is seen at 1280 pixels, and the rest when it is asked for', async () => {
	const { page, mishaps } = await open(browser, causesPage('whole-kernels', { variability: { kernels: Array.from({ length: 5 }, (_, i) => whole(i)) } }));
	await page.setViewportSize({ width: 1280, height: 800 });
	const heads = () => page.$$eval('#kernels th', (all) => all.filter((one) => one.offsetWidth > 0).map((one) => [one.textContent, one.getBoundingClientRect().right]));
	assert.deepEqual((await heads()).map(([text]) => text), ['kernel', 'configuration', 'launches', 'mean', 'std', 'std/mean', 'p50', 'p99', 'outliers', 'drift']);
	const box = await page.$eval('#kernels .scroll', (one) => [one.clientWidth, one.scrollWidth, one.getBoundingClientRect().right]);
	assert.ok(box[1] <= box[0], `${box[1]} pixels in ${box[0]}`);
	assert.ok((await heads()).every(([, right]) => right <= box[2] + 1));
	assert.equal(await page.$eval('#kernels tbody tr td:nth-child(2)', (one) => one.scrollWidth <= one.clientWidth), true);
	await page.click('#kernels .wider');
	const all = (await heads()).map(([text]) => text);
	assert.ok(all.length > 25 && all.includes('min') && all.includes('places') && all.includes('log variance'), all.join());
	await page.click('#kernels .wider');
	assert.equal((await heads()).length, 10);
	assert.deepEqual(mishaps, []);
	await page.close();
});

test('an axis of few values is labelled by them, and a brush names them', async () => {
	const rows = Array.from({ length: 200 }, (_, i) => [[16, 32, 64, 128][i % 4], i]);
	const { page } = await open(browser, causesPage('few-values', { axes: ['axis linear 16 128 1 NWG', 'axis linear 0 199 1 time'], rows }));
	assert.deepEqual(await page.evaluate(() => window.sonde.parallel.axes.map(({ values }) => values ?? null)), [[16, 32, 64, 128], null]);
	await page.evaluate(() => window.sonde.store.update({ brushes: new Map([[0, [0, 8]]]) }));
	assert.match(plain(await page.textContent('#brushed')), /100 of 200 rows .*NWG: 16, 32$/);
	await page.close();
});

test('bins that lie beside each other, and one behind a taller step, are marked', async () => {
	const tall = { ...overTime, std_ns: deviations.map((_, i) => (i === 750 ? 2e5 : 1e5)) };
	const near = [751, 751, 1200].map((step, i) => ({ start_ns: 1.7e18 + step * 2e7, end_ns: 1.7e18 + step * 2e7 + 1e7, variance: 1e10, rank: i + 1 }));
	const { page, mishaps } = await open(browser, causesPage('near', { variability: { bins: near, over_time: tall } }));
	assert.match(await page.textContent('#bins .remark'), /Marked: the 3 with the greatest variance, of which some lie beside each other\./);
	const red = await page.$eval('#strip canvas', (canvas) => {
		const { data } = canvas.getContext('2d').getImageData(0, 85, canvas.width, 1);
		return Array.from({ length: canvas.width }, (_, x) => x).filter((x) => data[4 * x] > 150 && data[4 * x + 1] < 80).map((x) => Math.round((1500 * x) / canvas.width));
	});
	for (const step of [751, 1200]) assert.ok(red.some((one) => Math.abs(one - step) <= 2), `${step} of ${red}`);
	assert.deepEqual(mishaps, []);
	await page.close();
});

test('a picture of another graph is refused', async () => {
	const path = causesPage('other', { graph, nodes, arrows: [...graph.edges].reverse() });
	const page = await browser.newPage();
	await page.goto(`file://${path}`);
	await page.waitForFunction(() => /cannot be shown/.test(document.body.textContent));
	assert.match(await page.textContent('.failure'), /the picture is not that of the graph/);
	await page.close();
});
