/* SPDX-License-Identifier: Apache-2.0 */
/* What the browser tests share: databases, exported pages, a browser that notes every mishap. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const root = new URL('../../', import.meta.url).pathname;
const build = process.env.SONDE_BUILD ?? `${root}build`;
const sonde = process.env.SONDE ?? `${build}/src/cmd/sonde`;
const { chromium } = createRequire(`${root}viewer/package.json`)('playwright-core');

/* Nothing that reaches for the network, and a profile of its own. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
	'--disable-component-update', '--disable-sync'];

export const directory = mkdtempSync(join(tmpdir(), 'sonde-browser-'));

export function makeDatabase(name, ...options) {
	const path = join(directory, `${name}.sdb`);
	execFileSync(`${build}/tests/make-db`, [...options, path]);
	return path;
}

export function exportPage(database, ...options) {
	const path = database.replace(/\.sdb$/, options.length > 0 ? '-formula.html' : '.html');
	execFileSync(sonde, ['export', '--to', 'html', ...options, database, '-o', path]);
	return path;
}

/* The page of `sonde timeline` of a Kineto trace with these events, and the answer as JSON. */
export function timelinePage(name, events, ...options) {
	const [trace, path] = [join(directory, `${name}.json`), join(directory, `${name}-timeline.html`)];
	writeFileSync(trace, JSON.stringify({ schemaVersion: 1, traceEvents: events }));
	const answer = execFileSync(sonde, ['timeline', trace, '-o', path, '--view', 'all', '--format', 'json', ...options], { maxBuffer: 1 << 30 });
	return { path, answer: JSON.parse(answer) };
}

/* A page of causes. `graph` is as the JSON of `sonde causal` with a tier and a kind for each node, `axes` the lines of make-causal's axes and
 * categories, `rows` arrays of numbers. */
export function causesPage(name, { title = name, sentences = [], tiers = [], graph, nodes = [], target, variability, axes = [], rows, arrows }) {
	const file = (suffix) => join(directory, `${name}-${suffix}`);
	const lines = [`title ${title}`, ...sentences.map((text) => `sentence ${text}`), ...tiers.map((text) => `tier ${text}`), ...axes];
	if (target !== undefined) lines.push(`target ${target}`);
	lines.push(...nodes.map(({ tier = 0, kind = 'number', name: text }) => `variable ${tier} ${kind} ${text}`));
	const number = (value) => value ?? 'nan';
	for (const { from, to, directed, frequency, effect, effect_low, effect_high, share } of arrows ?? graph?.edges ?? [])
		lines.push(['arrow', graph.nodes.indexOf(from), graph.nodes.indexOf(to), Number(directed), number(frequency), number(frequency), 0,
			number(effect), number(effect_low), number(effect_high), 1, number(share)].join(' '));
	for (const [key, value] of Object.entries({ graph, variability })) {
		if (!value) continue;
		writeFileSync(file(`${key}.json`), JSON.stringify(value));
		lines.push(`${key} ${file(`${key}.json`)}`);
	}
	writeFileSync(file('page.txt'), `${lines.join('\n')}\n`);
	if (rows) writeFileSync(file('rows.bin'), Buffer.from(Float64Array.from(rows.flat()).buffer));
	execFileSync(`${build}/tests/make-causal`, ['html', file('page.txt'), file('causes.html'), ...(rows ? [file('rows.bin')] : [])]);
	return file('causes.html');
}

/* The rows of sonde report --format json: every context, in pre-order. */
export function rowsOf(database, ...more) {
	const options = [...more, '--format', 'json', '--view', 'top-down', '--depth', '1000', '--min-share', '0'];
	return JSON.parse(execFileSync(sonde, ['report', ...options, database], { maxBuffer: 1 << 30 })).rows;
}

/* A page with a made-up profile, without a database. */
export function makeSample(what) {
	const path = join(directory, `${what}.html`);
	execFileSync('node', [`${root}viewer/.tests/sample-page.mjs`, what, path]);
	return path;
}

export async function startBrowser(options = {}) {
	const profile = join(directory, 'profile');
	return chromium.launchPersistentContext(profile, {
		executablePath: process.env.SONDE_CHROMIUM ?? '/usr/bin/chromium', headless: true, args: FLAGS,
		viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...options,
	});
}

export async function stopBrowser(browser) {
	await browser.close();
	rmSync(directory, { recursive: true, force: true });
}

/* An open page, and what went wrong on it: console errors, exceptions, requests to a network. */
export async function open(browser, path, hash = '') {
	const page = await browser.newPage();
	const mishaps = [];
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning') mishaps.push(message.text());
	});
	page.on('pageerror', (error) => mishaps.push(error.message));
	page.on('request', (request) => {
		if (!/^(file|data|blob):/.test(request.url())) mishaps.push(`request: ${request.url()}`);
	});
	await page.goto(`file://${path}${hash}`);
	await page.waitForFunction(() => performance.getEntriesByName('sonde:shown').length > 0);
	await page.evaluate(() => window.sonde?.ready);
	return { page, mishaps };
}

/* Until the picture lies as its state asks, however slow the machine is. */
export const settled = (page) => page.waitForFunction(() => !window.sonde.graph.moving);

/* Where the box of a node lies on the page; the node is found by names from below the root. */
export async function boxOf(page, names) {
	await settled(page);
	return page.evaluate((path) => {
		const { app, graph } = window.sonde;
		const { tree } = app;
		const nameOf = (node) => tree.profile.strings[tree.profile.frames.name[tree.frameOf(node)]];
		let node = 0;
		for (const name of path) {
			const { first, count } = tree.children(node);
			node = Array.from({ length: count }, (_, i) => first + i).find((child) => nameOf(child) === name);
			if (node === undefined) return undefined;
		}
		const box = graph.boxes.flat().find((one) => one.node === node && one.rest === 0);
		const stage = document.querySelector('.stage').getBoundingClientRect();
		const scroll = document.querySelector('.scroller').scrollTop;
		return box && { node, x: stage.x + Math.max(0, box.left), y: stage.y + box.row * 21 - scroll, width: box.right - box.left, weight: box.weight };
	}, names);
}

export async function clickBox(page, names) {
	const box = await boxOf(page, names);
	await page.mouse.click(box.x + Math.min(20, box.width / 2), box.y + 10);
	await settled(page);
}

/* Text with ordinary spaces. */
export const plain = (text) => text.replace(/[\u2009\u202f\u00a0]/g, ' ');

/* Makes tests of which each has a page of its own in browser(), on which nothing may go wrong. */
export function pageTester(browser) {
	return (name, path, hash, run) => test(name, async () => {
		const { page, mishaps } = await open(browser(), path(), hash);
		await run(page);
		assert.deepEqual(mishaps, []);
		await page.close();
	});
}
