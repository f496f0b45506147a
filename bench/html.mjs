/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How quick the exported page is, in headless Chromium without a GPU: size, loading, frames while
 * zooming, moving the pointer, searching. Prints a table in Markdown.
 *
 *	ninja -C build && (cd viewer && npm ci && npm run build) && node bench/html.mjs [CONTEXTS...]
 */
import { statSync } from 'node:fs';
import { exportPage, makeDatabase, open, startBrowser, stopBrowser } from '../tests/browser/page.mjs';

const ROUNDS = 5;
const counts = process.argv.length > 2 ? process.argv.slice(2) : ['1000', '10000', '100000', '1000000'];

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const ms = (value) => (value < 10 ? value.toFixed(1) : value.toFixed(0));

/* In the page: zooms into ever other boxes, noting every frame's length and every drawing's cost. */
async function frames() {
	const { app, graph } = window.sonde;
	const lengths = [];
	const draws = [];
	let last = 0;
	let running = true;
	const note = (now) => {
		if (last) lengths.push(now - last);
		last = now;
		draws.push(graph.costs.lastMs);
		if (running) requestAnimationFrame(note);
	};
	requestAnimationFrame(note);
	for (let i = 0; i < 6; i++) {
		const wide = graph.boxes.flat().filter((box) => box.rest === 0 && box.right - box.left > 40 && box.right - box.left < 500);
		if (wide.length > 0) app.zoomTo(wide[Math.floor((i * wide.length) / 7)].node);
		await new Promise((done) => setTimeout(done, 330));
		app.reset();
		await new Promise((done) => setTimeout(done, 330));
	}
	running = false;
	lengths.sort((a, b) => a - b);
	draws.sort((a, b) => a - b);
	const at = (list, share) => list[Math.min(list.length - 1, Math.floor(share * list.length))];
	return { median: at(lengths, 0.5), p95: at(lengths, 0.95), draw: at(draws, 0.5), drawWorst: draws.at(-1), count: lengths.length };
}

/* In the page: what one move of the pointer costs, over the whole graph. */
function hover() {
	const stage = document.querySelector('.stage');
	const { width, height, left, top } = stage.getBoundingClientRect();
	const begun = performance.now();
	const moves = 400;
	for (let i = 0; i < moves; i++) {
		const x = (width * ((i * 37) % 101)) / 101;
		const y = (height * ((i * 17) % 89)) / 89;
		const event = new PointerEvent('pointermove', { clientX: left + x, clientY: top + y, pointerType: 'mouse', bubbles: true });
		Object.defineProperty(event, 'offsetX', { value: x });
		Object.defineProperty(event, 'offsetY', { value: y });
		stage.dispatchEvent(event);
	}
	return (performance.now() - begun) / moves;
}

/* In the page: from an action to the drawn answer. */
function answers() {
	const { app } = window.sonde;
	const time = (run) => {
		const begun = performance.now();
		run();
		return performance.now() - begun;
	};
	const search = time(() => app.store.update({ query: 'function_12' }));
	app.store.update({ query: '' });
	const bottomUp = time(() => app.setDirection('bottom-up'));
	app.setDirection('top-down');
	const metric = time(() => app.store.update({ metric: 1 }));
	return { search, bottomUp, metric };
}

async function measure(browser, count) {
	const file = exportPage(makeDatabase(`n${count}`, '--contexts', count));
	const loads = [];
	const rounds = [];
	let boxes = 0;
	for (let round = 0; round < ROUNDS; round++) {
		const { page } = await open(browser, file);
		await page.waitForTimeout(150);
		const navigation = await page.evaluate(() => ({
			load: performance.getEntriesByName('sonde:load')[0].duration,
			whole: performance.getEntriesByName('sonde:shown')[0].startTime,
			boxes: window.sonde.graph.costs.boxes,
		}));
		loads.push(navigation);
		boxes = navigation.boxes;
		rounds.push({ ...(await page.evaluate(frames)), hover: await page.evaluate(hover), ...(await page.evaluate(answers)) });
		await page.close();
	}
	const of = (name) => ms(median(rounds.map((round) => round[name])));
	const size = (statSync(file).size / 1e6).toFixed(2);
	return [count, `${size} MB`, ms(median(loads.map((l) => l.whole))), ms(median(loads.map((l) => l.load))), boxes,
		`${of('draw')} / ${of('drawWorst')}`, `${of('median')} / ${of('p95')}`, `${(1000 * median(rounds.map((r) => r.hover))).toFixed(0)} µs`,
		of('search'), of('bottomUp'), of('metric')];
}

const browser = await startBrowser({ reducedMotion: 'no-preference', viewport: { width: 1920, height: 1080 } });
console.log('| contexts | file | shown after, ms | of that the page, ms | boxes | draw median / worst, ms | frame median / p95, ms | pointer move | search, ms | bottom-up, ms | metric, ms |');
console.log('|---|---|---|---|---|---|---|---|---|---|---|');
for (const count of counts) console.log(`| ${(await measure(browser, count)).join(' | ')} |`);
await stopBrowser(browser);
