/* SPDX-License-Identifier: Apache-2.0 */
/* Composes the page and ties it to the store, the address and the medium. */
import type { Profile } from '../format/decode.ts';
import type { Theme } from '../logic/colour.ts';
import { fromHash, toHash } from '../logic/hash.ts';
import { Model } from '../logic/model.ts';
import { INITIAL, Store } from '../store.ts';
import type { State } from '../store.ts';
import { App } from './app.ts';
import type { View } from './app.ts';
import { createBreadcrumb } from './breadcrumb.ts';
import { detailsOf } from './details.ts';
import { h } from './dom.ts';
import { Graph } from './graph.ts';
import { createHeader, programOf } from './header.ts';
import { createHelp } from './help.ts';
import { createHotSpots } from './hotspots.ts';
import { listenToKeys } from './keyboard.ts';
import { createLegend } from './legend.ts';
import { keepTheme } from './theme.ts';
import { createToolbar } from './toolbar.ts';

const HOVER_REST_MS = 70;

function createDetails(app: App, theme: () => Theme): View & { hover(node: number): void } {
	const body = h('div', { class: 'details-body', id: 'details' });
	const element = h('section', { class: 'panel details', 'aria-label': 'Details' }, body);
	let pending = 0;
	const show = (node: number): void => body.replaceChildren(...detailsOf(app, node, theme()));
	const showSettled = (): void => {
		const { selected, zoom } = app.state;
		show(app.tree.find(selected ?? zoom));
	};
	return {
		element,
		update: (_state, changed) => {
			if (changed.size === 1 && (changed.has('help') || changed.has('dimmedBut'))) return;
			showSettled();
			body.scrollTop = 0;
		},
		/* Waits until the pointer rests: moving over the graph stays light. */
		hover: (node) => {
			clearTimeout(pending);
			pending = window.setTimeout(() => (node >= 0 ? show(node) : showSettled()), HOVER_REST_MS);
		},
	};
}

function keepAddress(app: App, initial: State): void {
	const { profile } = app.model;
	let written = location.hash;
	let following = false;
	app.store.subscribe((state, changed) => {
		const hash = toHash(state, initial, profile);
		written = hash ? `#${hash}` : '';
		if (location.hash === written) return;
		/* Another place in the picture is a step of the browser's history, another look is none. */
		const step = !following && (changed.has('zoom') || changed.has('direction'));
		history[step ? 'pushState' : 'replaceState'](null, '', written || location.pathname + location.search);
	});
	window.addEventListener('hashchange', () => {
		if (location.hash === written) return;
		following = true;
		app.forget();
		app.store.update(fromHash(location.hash, initial, profile));
		following = false;
	});
}

export interface Page {
	readonly app: App;
	readonly graph: Graph;
}

export function createPage(profile: Profile, into: HTMLElement): Page {
	const model = new Model(profile);
	const initial: State = {
		...INITIAL, metric: profile.firstMetric, formula: profile.formulas[profile.firstFormula]?.steps ? profile.firstFormula : -1,
		category: model.hasCategory('yours') ? 'yours' : INITIAL.category,
	};
	const store = new Store({ ...initial, ...fromHash(location.hash, initial, profile) });
	const spoken = h('div', { class: 'spoken', 'aria-live': 'polite' });
	const app = new App(model, store, (text) => {
		spoken.textContent = text;
	});
	const theme = keepTheme(store);
	const details = createDetails(app, theme);
	const graph = new Graph(app, theme, (node) => details.hover(node));
	const toolbar = createToolbar(app);
	const breadcrumb = createBreadcrumb(app);
	const legend = createLegend(app, theme);
	const hotSpots = createHotSpots(app, theme);
	const views: View[] = [createHeader(app), toolbar, breadcrumb, legend, hotSpots, createHelp(app), graph, details];
	document.title = `${programOf(profile)} – Sonde`;
	into.replaceChildren(views[0]!.element, toolbar.element,
		h('main', { class: 'main' },
			h('div', { class: 'left' }, breadcrumb.element, graph.element, legend.element),
			h('aside', { class: 'side' }, hotSpots.element, details.element)),
		views[5]!.element, graph.tooltip.element, spoken);
	const redraw = (state: State, changed: ReadonlySet<keyof State>): void => {
		for (const view of views) view.update(state, changed);
	};
	redraw(store.state, new Set());
	store.subscribe(redraw);
	addEventListener('sonde-theme', () => {
		redraw(store.state, new Set());
		graph.refresh();
	});
	keepAddress(app, initial);
	listenToKeys(app, graph, toolbar.search.input);
	return { app, graph };
}
