/* SPDX-License-Identifier: Apache-2.0 */
/* The side panel of what costs most, whatever calls it. */
import { CATEGORIES, granularityOf, isByLine } from '../logic/hotspots.ts';
import type { HotSpot } from '../logic/hotspots.ts';
import { css, layerColour } from '../logic/colour.ts';
import type { Theme } from '../logic/colour.ts';
import { layerOf } from '../logic/keys.ts';
import { baseName, fit, markOf, moduleOf, nameOf, placeOf, sourceOf, spellings } from '../logic/label.ts';
import type { MeasureText } from '../logic/label.ts';
import { formatShare, formatValue } from '../logic/units.ts';
import type { Changed, State } from '../store.ts';
import { measurer } from '../canvas/text.ts';
import type { App, View } from './app.ts';
import { h } from './dom.ts';

/* Rows shown: what lies below them no longer matters, and the flame graph has it. */
const MOST_ROWS = 200;
/* Pixels of the list that are not the name's, and of the list before it is laid out. */
const OTHER_COLUMNS = 165;
const USUAL_WIDTH = 383;

function spotRow(app: App, spot: HotSpot, total: number, theme: Theme, short: (name: string) => string): HTMLElement {
	const { model, state } = app;
	const { profile } = model;
	const unit = model.unit(state);
	const { category } = state;
	const name = nameOf(profile, spot.frame);
	const place = placeOf(profile, spot.frame, granularityOf(category)) || baseName(moduleOf(profile, spot.frame));
	const mark = markOf(profile, spot.frame);
	const marked = state.marked?.category === category && state.marked.key === spot.key;
	const bar = h('span', { class: 'bar' });
	bar.style.width = `${total > 0 ? (100 * spot[state.sort]) / total : 0}%`;
	bar.style.background = css(layerColour(layerOf(profile, spot.frame), name, theme));
	const source = sourceOf(profile, spot.frame);
	const titles = isByLine(category) ? [source ? `${place}  ${short(name)}` : place, source || short(name)] : [short(name), [mark, place].filter((text) => text).join(' · ')];
	const number = (value: number): HTMLElement =>
		h('span', { class: 'number', title: formatValue(value, unit), 'data-value': value }, formatShare(value, total));
	return h('li', {}, h('button', {
		type: 'button', class: 'spot', 'aria-pressed': String(marked), title: `${name}\n${place}`,
		onclick: () => app.store.update({ marked: marked ? null : { category, key: spot.key }, query: '' }),
		ondblclick: () => app.showCallersOfFrame(spot.frame),
	}, bar, h('span', { class: 'spot-name' }, titles[0]!, h('small', { class: source && isByLine(category) ? 'mono' : null }, titles[1]!)), number(spot.own), number(spot.total)));
}

export function createHotSpots(app: App, theme: () => Theme): View {
	const categories = CATEGORIES.filter(({ id }) => app.model.hasCategory(id));
	const tabs = categories.map(({ id, label }) =>
		h('button', {
			type: 'button', role: 'tab', 'aria-controls': 'spots', 'data-category': id, onclick: () => app.store.update({ category: id }),
		}, label));
	/* As the pattern of tabs asks: one stop of the Tab key, arrows from tab to tab. */
	const turn = (event: KeyboardEvent): void => {
		const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
		const at = tabs.findIndex((tab) => tab === document.activeElement);
		if (by === 0 || at < 0) return;
		const tab = tabs[(at + by + tabs.length) % tabs.length]!;
		tab.focus();
		tab.click();
		event.preventDefault();
	};
	const sorter = (sort: State['sort'], label: string): HTMLButtonElement =>
		h('button', { type: 'button', class: 'sorter', onclick: () => app.store.update({ sort }) }, label);
	const own = sorter('own', 'Own');
	const total = sorter('total', 'Total');
	const list = h('ol', { class: 'spots', id: 'spots', 'aria-label': 'Hot spots' });
	const element = h('section', { class: 'panel hotspots', 'aria-label': 'Hot spots' },
		h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Kinds of hot spots', onkeydown: turn }, ...tabs),
		h('div', { class: 'spot-head' }, h('h2', {}, 'Hot spots'), own, total), list);
	const measure: MeasureText = measurer(document.createElement('canvas').getContext('2d')!,
		`13px ${getComputedStyle(document.documentElement).getPropertyValue('--sans')}`);
	const update = (state: State, changed: Changed): void => {
		const relevant: (keyof State)[] = ['metric', 'measure', 'category', 'sort', 'marked', 'theme'];
		if (changed.size > 0 && !relevant.some((name) => changed.has(name))) return;
		for (const tab of tabs) {
			const chosen = tab.dataset['category'] === state.category;
			tab.setAttribute('aria-selected', String(chosen));
			tab.tabIndex = chosen ? 0 : -1;
		}
		own.setAttribute('aria-pressed', String(state.sort === 'own'));
		total.setAttribute('aria-pressed', String(state.sort === 'total'));
		own.title = CATEGORIES.find(({ id }) => id === state.category)!.own;
		total.title = 'Total: with everything it calls; recursion counts once';
		const spots = app.model.spots(state, state.category);
		const sorted = state.sort === 'own' ? spots : [...spots].sort((a, b) => b.total - a.total);
		const room = (list.clientWidth || USUAL_WIDTH) - OTHER_COLUMNS;
		const short = (name: string): string => fit(spellings(name), room, measure);
		const whole = app.model.weights(state.metric, state.measure).total;
		list.replaceChildren(...sorted.slice(0, MOST_ROWS).map((spot) => spotRow(app, spot, whole, theme(), short)));
		if (spots.length === 0) list.append(h('li', { class: 'none' }, 'Nothing of this kind has a cost in this metric.'));
		if (spots.length > MOST_ROWS) list.append(h('li', { class: 'none' }, `${spots.length - MOST_ROWS} more cost less.`));
	};
	return { element, update };
}
