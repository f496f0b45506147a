/* SPDX-License-Identifier: Apache-2.0 */
/* Composes the page of causes and ties it to the store and the keyboard. */
import type { Causes, Parallel } from '../../format/causal.ts';
import { sheetsOf } from '../../logic/causes.ts';
import { partsOf } from '../../logic/sheet.ts';
import { grouped } from '../../logic/units.ts';
import { Store } from '../../store.ts';
import type { Changed } from '../../store.ts';
import { h } from '../dom.ts';
import { headerBar } from '../header.ts';
import { helpDialog } from '../help.ts';
import { keepTheme, nextTheme } from '../theme.ts';
import { createSheets } from '../timeline/sheets.ts';
import type { Sheets } from '../timeline/sheets.ts';
import { BinsView } from './bins.ts';
import { GraphView } from './graph.ts';
import { ParallelView } from './parallel.ts';
import { INITIAL_CAUSES } from './state.ts';
import type { CausesApp, CausesState, CausesView } from './state.ts';

const KEYS: readonly (readonly [string, string])[] = [
	['/', 'search the tables'],
	['n, N', 'next, previous table'],
	['click, Enter', 'on a variable: its causes and effects alone'],
	['drag, click', 'on an axis: the rows within'],
	['Esc', 'close what is open, show all again'],
	['t', 'theme'],
	['?', 'this help'],
];

const READING: readonly string[] = [
	'An arrow leads from a cause to its effect. Black: the more of the cause, the more of the effect; red with an open head: the less. Grey: no sign, because the cause is a category or the interval holds 0. It is as wide as the share of the variance that it explains.',
	'An effect is that of one standard deviation of the cause, in standard deviations of what it causes, its other causes held. “In samples” is how many of many samples of the rows had the edge again; below 80 % it is dashed. Without a head the data does not tell the direction.',
	'A causal graph holds only what the columns can tell: a cause that was not recorded can make two of its effects look like cause and effect. The simpler ways beside it show what needs no causal step.',
];

export interface CausesPage {
	readonly store: Store<CausesState>;
	readonly parallel: Parallel | null;
	/* Until all is there. */
	readonly ready: Promise<void>;
}

function lead(sentences: readonly string[]): HTMLElement | null {
	if (sentences.length === 0) return null;
	return h('section', { class: 'lead', 'aria-label': 'In short' }, ...sentences.map((sentence) => {
		const [what, answer] = partsOf(sentence);
		return h('p', {}, what && h('b', {}, what), answer);
	}));
}

function listenToKeys(app: CausesApp, sheets: Sheets): void {
	const { store } = app;
	const bound: Record<string, () => void> = {
		'/': () => sheets.search.select(),
		'?': () => store.update({ help: true }),
		t: () => nextTheme(store, app.announce),
		n: () => sheets.step(1),
		N: () => sheets.step(-1),
	};
	document.addEventListener('keydown', (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
		const target = event.target as HTMLElement;
		if (event.key === 'Escape') {
			if (target === sheets.search) sheets.search.blur();
			store.update(store.state.help ? { help: false } : { query: '', chosen: -1, brushes: new Map() });
		} else if (target.matches('input') || store.state.help || !bound[event.key]) return;
		else bound[event.key]!();
		event.preventDefault();
	});
}

export function createCausesPage(causes: Causes, into: HTMLElement): CausesPage {
	const store = new Store(INITIAL_CAUSES);
	const spoken = h('div', { class: 'spoken', 'aria-live': 'polite' });
	const app: CausesApp = {
		causes, store, theme: keepTheme(store),
		announce: (text) => {
			spoken.textContent = text;
		},
	};
	const { graph, parallel } = causes;
	const facts: [string, string][] = [];
	if (graph) facts.push(['Variables', grouped(graph.nodes.length)], ['Edges', grouped(graph.edges.length)]);
	if (causes.overTime) facts.push(['Bins', grouped(causes.overTime.bins)]);
	if (parallel) facts.push(['Rows', grouped(parallel.rows)]);
	const header = headerBar(store, app.announce, { madeBy: 'sonde', name: causes.title, facts, badges: [], beside: null });
	const graphView = graph && causes.picture ? new GraphView(app, graph) : null;
	const bins = causes.overTime ? new BinsView(app, causes.overTime) : null;
	const coordinates = parallel ? new ParallelView(app, parallel) : null;
	const help = helpDialog(store, READING, KEYS);
	const sheets = createSheets({ store, timeline: { sheets: sheetsOf(causes), curves_left_out: 0 } },
		[graphView && ['graph', 'causal graph'], bins && ['bins', 'variation over time'], coordinates && ['parallel', 'parallel coordinates']]
			.filter((one): one is [string, string] => one !== null));
	const isEmpty = !graph && causes.kernels.length === 0 && !bins && !coordinates;
	const main = h('main', {}, lead(causes.sentences), graphView?.element, isEmpty && h('p', { class: 'none' }, 'There is nothing to show.'), sheets.element);
	/* time and rows stand where the tables of the same begin */
	const kernels = sheets.element.querySelector('#kernels, #top_bins');
	for (const view of [bins, coordinates])
		if (view && kernels) kernels.before(view.element);
		else if (view) sheets.element.append(view.element);
	document.body.classList.add('flows', 'causes');
	into.replaceChildren(header.element, h('div', { class: 'answers' }, sheets.contents, main), help.element,
		...[graphView, bins].flatMap((view) => (view ? [view.note.element] : [])), spoken);
	const views: Pick<CausesView, 'update'>[] = [header, help, sheets, ...[graphView, bins, coordinates].filter((view) => view !== null)];
	const show = (state: CausesState, changed: Changed<CausesState>): void => {
		for (const view of views) view.update(state, changed);
	};
	show(store.state, new Set());
	store.subscribe(show);
	listenToKeys(app, sheets);
	addEventListener('sonde-theme', () => show(store.state, new Set(['theme'])));
	if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
	return { store, parallel, ready: Promise.resolve() };
}
