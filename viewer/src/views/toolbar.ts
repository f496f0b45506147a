/* SPDX-License-Identifier: Apache-2.0 */
/* The controls above the graph: metric, direction, detail, colours, search. */
import { foundNodes } from '../logic/model.ts';
import { formatShare } from '../logic/units.ts';
import type { Changed, State } from '../store.ts';
import type { App, View } from './app.ts';
import { h, icon, ICONS } from './dom.ts';

/* What the sum of a metric of a unit is called. */
const SUM_NAMES: Record<string, string> = { ns: 'Time', bytes: 'Bytes' };

interface Segments<T extends string> {
	readonly element: HTMLElement;
	show(value: T): void;
	name(value: T, text: string): void;
}

/* A row of buttons of which one is pressed. */
function segments<T extends string>(label: string, options: readonly (readonly [T, string, string])[],
	choose: (value: T) => void): Segments<T> {
	const buttons = options.map(([value, text, title]) =>
		h('button', { type: 'button', title, 'data-value': value, onclick: () => choose(value) }, text));
	return {
		element: h('div', { class: 'segments', role: 'group', 'aria-label': label }, ...buttons),
		show: (value) => {
			for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset['value'] === value));
		},
		name: (value, text) => {
			for (const button of buttons) if (button.dataset['value'] === value) button.textContent = text;
		},
	};
}

function choice<T extends string>(label: string, options: readonly (readonly [T, string])[],
	choose: (value: T) => void, id: string): { element: HTMLElement; select: HTMLSelectElement } {
	const select = h('select', { id, onchange: () => choose(select.value as T) },
		...options.map(([value, text]) => h('option', { value }, text)));
	return { element: h('label', { class: 'field' }, h('span', {}, label), select), select };
}

/*
 * Metrics, and formulas, whose values do not add up: choosing one keeps the widths by the metric
 * that gives them, which the note says.
 */
function metricChoice(app: App): { element: HTMLElement; update(state: State): void } {
	const { metrics, formulas } = app.model.profile;
	const take = (value: string): void => {
		if (value.startsWith('=')) app.store.update({ formula: Number(value.slice(1)) });
		else app.store.update({ metric: Number(value), formula: -1 });
	};
	const select = h('select', { id: 'metric', onchange: () => take(select.value) });
	const options = metrics.map((metric, i) =>
		h('option', { value: String(i) }, metric.contexts.length > 0 ? metric.name : `${metric.name} (no values)`));
	const group = h('optgroup', { label: 'Formulas: shown beside the widths' }, ...formulas.map(({ name, text, steps }, i) =>
		h('option', { value: `=${i}`, title: text, disabled: !steps }, steps ? name : `${name} (needs values by profile)`)));
	select.append(...options, ...(formulas.length > 0 ? [group] : []));
	const note = h('span', {
		class: 'note', id: 'widths', hidden: true,
		title: 'Values of a formula, such as a ratio, do not add up to the whole: boxes keep the widths of a measured metric. ' +
			'Point at a box to see the formula there. To change the widths, choose a metric first.',
	});
	return {
		element: h('span', { class: 'field' }, h('label', { class: 'field' }, h('span', {}, 'Metric'), select), note),
		update: (state) => {
			select.value = state.formula >= 0 ? `=${state.formula}` : String(state.metric);
			note.hidden = state.formula < 0;
			note.textContent = `widths: ${app.model.metric(state)?.name ?? 'none'}`;
		},
	};
}

const TYPING_MS = 60;

export interface SearchBox {
	readonly element: HTMLElement;
	readonly input: HTMLInputElement;
	update(state: State): void;
	step(by: 1 | -1): void;
}

export function stepFound(app: App, by: 1 | -1): void {
	const found = app.model.found(app.state) ?? app.model.marked(app.state);
	if (found) app.step(foundNodes(app.tree, found, app.state.direction === 'top-down'), by);
}

function createSearch(app: App): SearchBox {
	const step = (by: 1 | -1): void => stepFound(app, by);
	let pending = 0;
	/* Takes over what has been typed; typing itself waits a moment. */
	const flush = (): void => {
		clearTimeout(pending);
		pending = 0;
		if (input.value !== app.state.query) app.store.update({ query: input.value, marked: null });
	};
	const input = h('input', {
		type: 'search', id: 'search', placeholder: 'Search functions, files   /', spellcheck: 'false', autocomplete: 'off',
		'aria-label': 'Search functions and files',
		oninput: () => {
			clearTimeout(pending);
			pending = window.setTimeout(flush, TYPING_MS);
		},
		onkeydown: (event: KeyboardEvent) => {
			if (event.key === 'Enter') {
				flush();
				step(event.shiftKey ? -1 : 1);
			}
		},
	});
	const result = h('output', { class: 'found', id: 'found', 'aria-live': 'polite' });
	const regex = h('button', {
		type: 'button', class: 'toggle', title: 'Regular expression', 'aria-label': 'Regular expression',
		onclick: () => {
			flush();
			app.store.update({ regex: !app.state.regex });
		},
	}, '.*');
	const arrow = (by: 1 | -1, label: string, path: string): HTMLButtonElement =>
		h('button', { type: 'button', class: 'bare', title: label, 'aria-label': label, onclick: () => step(by) }, icon(path));
	const arrows = [arrow(-1, 'Previous match (N)', ICONS.up), arrow(1, 'Next match (n)', ICONS.down)];
	const element = h('div', { class: 'search', role: 'search' }, icon(ICONS.search), input, result, ...arrows, regex);
	const update = (state: State): void => {
		if (!pending && input.value !== state.query) input.value = state.query;
		regex.setAttribute('aria-pressed', String(state.regex));
		const error = app.model.queryError(state);
		const found = app.model.found(state);
		input.setAttribute('aria-invalid', String(error !== ''));
		input.title = error;
		const total = app.model.weights(state.metric, state.measure).total;
		result.textContent = error ? 'invalid' : found ? (found.weight > 0 ? formatShare(found.weight, total) : 'no match') : '';
		result.title = found ? 'Share of the whole that runs in or below a match' : '';
		for (const button of arrows) button.disabled = !found || found.weight === 0;
	};
	return { element, input, update, step };
}

export function createToolbar(app: App): View & { search: SearchBox } {
	const metric = metricChoice(app);
	const measure = segments('Weigh by', [
		['sum', 'Sum', 'Widths show the metric itself'],
		['count', 'Count', 'Widths show how many values there are'],
	], (value) => app.store.update({ measure: value }));
	const direction = segments('View', [
		['top-down', 'Top-down', 'From the program’s start to what it calls (b)'],
		['bottom-up', 'Bottom-up', 'From the functions that cost to who calls them (b)'],
	], (value) => app.setDirection(value));
	const detail = choice('Detail', [
		['python', 'Python lines'],
		['function', 'Functions'],
		['line', 'All lines'],
	], (value: State['granularity']) => app.setGranularity(value), 'detail');
	const colour = choice('Colour', [
		['layer', 'Layer'],
		['module', 'Module'],
	], (value: State['colour']) => app.store.update({ colour: value }), 'colour');
	const search = createSearch(app);
	const element = h('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Graph' },
		metric.element, measure.element, direction.element, detail.element, colour.element,
		search.element);
	return {
		element,
		search,
		update: (state: State, _changed: Changed) => {
			metric.update(state);
			detail.select.value = state.granularity;
			colour.select.value = state.colour;
			measure.show(state.measure);
			measure.name('sum', SUM_NAMES[app.model.metric(state)?.unit ?? ''] ?? 'Sum');
			direction.show(state.direction);
			search.update(state);
		},
	};
}
