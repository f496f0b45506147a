/* SPDX-License-Identifier: Apache-2.0 */
/* Everything about one frame: where it is, its full path, and all its metrics. */
import type { Formula, Metric } from '../format/decode.ts';
import { css, layerSwatch } from '../logic/colour.ts';
import type { Theme } from '../logic/colour.ts';
import { formulaAt } from '../logic/formula.ts';
import { byLine, kindOf, layerOf } from '../logic/keys.ts';
import { baseName, fileOf, markOf, moduleOf, nameOf, placeOf, sourceOf } from '../logic/label.ts';
import { statsOf } from '../logic/node-stats.ts';
import { deviationOf, meanOf } from '../logic/stats.ts';
import type { Stat } from '../logic/stats.ts';
import { ROOT } from '../logic/tree.ts';
import type { Tree } from '../logic/tree.ts';
import { formatShare, formatValue, grouped } from '../logic/units.ts';
import type { App } from './app.ts';
import { h } from './dom.ts';

/* Frames of a path that are listed: of a longer one, this many of the outer ones and the inner rest. */
const MOST_FRAMES = 300;
const OUTER_FRAMES = 100;

const ROWS: readonly (readonly [name: string, raw: (stat: Stat) => number])[] = [
	['Sum', (stat) => stat.sum],
	['Count', (stat) => stat.count],
	['Mean', meanOf],
	['Minimum', (stat) => stat.min],
	['Maximum', (stat) => stat.max],
	['Deviation', deviationOf],
];

/* The number as text, exact in its title. */
function cell(stat: Stat, raw: (stat: Stat) => number, value: (raw: number) => string): HTMLElement {
	if (stat.count <= 0) return h('td', { class: 'number' }, '–');
	const exact = raw(stat);
	return h('td', { class: 'number', title: grouped(exact), 'data-value': exact }, value(exact));
}

/* One metric's table, or null where the node has none of it. */
function metricBlock(tree: Tree, node: number, metric: Metric, current: boolean): HTMLElement | null {
	const { inclusive, exclusive, counted } = statsOf(tree, node, metric);
	if (inclusive.count === 0) return null;
	const whole = statsOf(tree, ROOT, metric).inclusive;
	const parent = node === ROOT ? null : statsOf(tree, tree.parent[node]!, metric).inclusive;
	const single = tree.direction === 'bottom-up' && node !== ROOT;
	const line = (name: string, raw: (stat: Stat) => number, value: (raw: number) => string, whole = inclusive): HTMLElement =>
		h('tr', {}, h('th', { scope: 'row' }, name), ...(single ? [] : [cell(whole, raw, value)]), cell(exclusive, raw, value));
	const share = (name: string, of: Stat): HTMLElement =>
		line(name, (stat) => stat.sum, (sum) => formatShare(sum, of.sum));
	return h('table', { class: current ? 'metric current' : 'metric', 'data-metric': metric.name },
		h('thead', {}, h('tr', {}, h('th', { scope: 'col', class: 'metric-name' }, metric.name),
			...(single ? [h('th', { scope: 'col' }, 'Own, by this path')]
				: [h('th', { scope: 'col' }, 'Total'), h('th', { scope: 'col' }, 'Own')]))),
		h('tbody', {},
			...ROWS.map(([name, raw]) =>
				line(name === 'Count' && metric.calls ? 'Calls' : name, raw,
					(value) => (name === 'Count' ? grouped(value) : formatValue(value, metric.unit)), name === 'Sum' ? inclusive : counted)),
			share('Of everything', whole),
			parent && share(single ? 'Of the callee' : 'Of the caller', parent)));
}

/* Formulas that have a value at the node, the chosen one first; null where none has. */
function formulaBlock(app: App, tree: Tree, node: number): HTMLElement | null {
	const single = tree.direction === 'bottom-up' && node !== ROOT;
	const chosen = app.model.formula(app.state);
	const { formulas } = app.model.profile;
	const lines = [...(chosen ? [chosen] : []), ...formulas.filter((formula) => formula !== chosen)].flatMap((formula) => {
		const values = (single ? [true] : [false, true]).map((exclusive) => formulaAt(tree, node, formula, exclusive));
		if (formula !== chosen && values.every(Number.isNaN)) return [];
		return [h('tr', { class: formula === chosen ? 'chosen' : null },
			h('th', { scope: 'row', title: titleOf(formula) }, formula.name),
			...values.map((value) => h('td', {
				class: 'number', title: Number.isNaN(value) ? 'No value here' : String(value),
				'data-value': Number.isNaN(value) ? null : value,
			}, formatValue(value, formula.unit))))];
	});
	if (lines.length === 0) return null;
	return h('table', { class: 'metric formulas' },
		h('thead', {}, h('tr', {}, h('th', { scope: 'col', class: 'metric-name' }, 'Formulas'),
			...(single ? [h('th', { scope: 'col' }, 'Own, by this path')]
				: [h('th', { scope: 'col' }, 'Total'), h('th', { scope: 'col' }, 'Own')]))),
		h('tbody', {}, ...lines));
}

function titleOf(formula: Formula): string {
	return formula.about ? `${formula.about}\n= ${formula.text}` : `= ${formula.text}`;
}

/* What a compiled computation is made of; its time is not divided among them. */
function operationsBlock(app: App, frame: number): HTMLElement[] {
	const operations = app.model.profile.operations.get(frame);
	if (!operations) return [];
	const items = operations.map(({ name, path, file, line, callers }) =>
		h('li', { title: callers ? `${path}\n${callers.split(' > ').join('\n')}` : path },
			h('span', { class: 'frame-name' }, name),
			file ? h('span', { class: 'frame-place' }, line > 0 ? `${baseName(file)}:${line}` : baseName(file)) : null));
	return [h('h4', {}, items.length === 1 ? 'Computes one operation' : `Computes ${items.length} operations`), h('ol', { class: 'operations' }, ...items)];
}

function pathList(app: App, tree: Tree, node: number, theme: Theme): HTMLElement {
	const { profile } = app.model;
	const nodes = tree.nodesTo(node).slice(1);
	const left = nodes.length > MOST_FRAMES ? [...nodes.slice(0, OUTER_FRAMES), -1, ...nodes.slice(OUTER_FRAMES - MOST_FRAMES)] : nodes;
	const items = left.map((n) => {
		if (n < 0) return h('li', { class: 'none' }, `${grouped(nodes.length - MOST_FRAMES)} more frames`);
		const frame = tree.frameOf(n);
		const place = placeOf(profile, frame, app.state.granularity);
		const swatch = h('span', { class: 'swatch' });
		swatch.style.background = css(layerSwatch(layerOf(profile, frame), theme));
		return h('li', {}, h('button', {
			type: 'button', class: 'frame', title: `Zoom to ${nameOf(profile, frame)}`, 'aria-current': n === node ? 'true' : null,
			onclick: () => app.zoomTo(n),
		}, swatch, h('span', { class: 'frame-name' }, nameOf(profile, frame)),
			place ? h('span', { class: 'frame-place' }, place) : null,
			h('span', { class: 'frame-share' }, formatShare(tree.weight[n]!, tree.total))));
	});
	return h('ol', { class: 'path' }, ...items);
}

function pathText(app: App, tree: Tree, node: number): string {
	const { profile } = app.model;
	return tree.nodesTo(node).slice(1).map((n) => {
		const frame = tree.frameOf(n);
		const place = placeOf(profile, frame, app.state.granularity, true);
		return nameOf(profile, frame) + (place ? `  (${place})` : '');
	}).join('\n');
}

function actions(app: App, tree: Tree, node: number): HTMLElement {
	const key = tree.key[node]!;
	const action = (text: string, title: string, run: () => void): HTMLElement =>
		h('button', { type: 'button', class: 'action', title, onclick: run }, text);
	return h('div', { class: 'actions' },
		action('Callers', 'Who calls this, bottom-up (c)', () => app.showCallers(key)),
		action('Mark all', 'Mark every box of this function (h)', () => app.markFrame(tree.frameOf(node))),
		action('Copy path', 'Copy the call path as text', () => {
			void navigator.clipboard?.writeText(pathText(app, tree, node)).then(() => app.announce('Path copied'));
		}));
}

function headOf(app: App, tree: Tree, node: number, theme: Theme): HTMLElement {
	const { profile } = app.model;
	const frame = tree.frameOf(node);
	const swatch = h('span', { class: 'swatch' });
	swatch.style.background = css(layerSwatch(layerOf(profile, frame), theme));
	const kind = node === ROOT ? '' : kindOf(profile, frame);
	const mark = markOf(profile, frame);
	const { functionLine, line } = profile.frames;
	const place = placeOf(profile, frame, app.state.granularity, true);
	const begins = fileOf(profile, frame) && functionLine[frame]! > 0 && line[frame] !== functionLine[frame] &&
		place.endsWith(`:${line[frame]}`) ? ` · function from line ${functionLine[frame]}` : '';
	const module = moduleOf(profile, frame);
	const source = byLine(profile, frame, app.state.granularity) ? sourceOf(profile, frame) : '';
	return h('div', { class: 'details-head' },
		h('h3', { id: 'details-name' }, nameOf(profile, frame)),
		h('p', { class: 'where' }, swatch, kind || 'everything that was measured', mark && mark !== kind ? ` · ${mark}` : ''),
		place ? h('p', { class: 'where mono' }, place + begins) : null,
		module ? h('p', { class: 'where mono' }, module) : null,
		source ? h('code', { class: 'source' }, source) : null);
}

export function detailsOf(app: App, node: number, theme: Theme): HTMLElement[] {
	const { tree, state, model } = app;
	const { metrics } = model.profile;
	const order = metrics.map((_, i) => i).sort((a, b) => Number(b === state.metric) - Number(a === state.metric) || a - b);
	const blocks = order.map((i) => metricBlock(tree, node, metrics[i]!, i === state.metric))
		.filter((block): block is HTMLElement => block !== null);
	const formulas = formulaBlock(app, tree, node);
	if (formulas) blocks.splice(state.formula >= 0 ? 0 : 1, 0, formulas);
	if (node === ROOT) return [headOf(app, tree, node, theme), ...blocks];
	return [
		headOf(app, tree, node, theme),
		actions(app, tree, node),
		...operationsBlock(app, tree.frameOf(node)),
		...blocks.slice(0, 1),
		h('h4', {}, state.direction === 'top-down' ? 'Call path, outermost first' : 'Call path, innermost first'),
		pathList(app, tree, node, theme),
		...blocks.slice(1),
	];
}
