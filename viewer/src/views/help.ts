/* SPDX-License-Identifier: Apache-2.0 */
/* The help overlay: how to read the page, and its keys. */
import type { Common, Store } from '../store.ts';
import type { App, View } from './app.ts';
import { h, icon, ICONS } from './dom.ts';

type KeyTexts = readonly (readonly [key: string, does: string])[];

const KEYS: KeyTexts = [
	['click, Enter', 'zoom into a box'],
	['Esc, Backspace', 'one step back'],
	['0, Home', 'show everything'],
	['↑ ↓ ← →', 'select caller, callee, neighbours'],
	['/', 'search'],
	['n, N', 'next, previous match, the costliest first'],
	['b', 'top-down or bottom-up'],
	['m, M', 'next, previous metric'],
	['c', 'callers of the selected frame'],
	['h', 'mark every box of the selected function'],
	['Ctrl + wheel', 'zoom at the pointer; Shift + wheel or dragging moves'],
	['double click', 'on a hot spot: who calls it'],
	['t', 'theme'],
	['?', 'this help'],
];

const READING: readonly string[] = [
	'A box is a frame of a call path; its width is its cost with all that it calls. A box lies below its caller in the top-down view, below its callee in the bottom-up view. Widest first: the order is not that of time.',
	'A red bar marks the part of a box that is its own cost, where that is at least 2 % of the whole. Boxes too narrow to draw are added up in a hatched one.',
	'“loop at FILE:LINE” is a loop of the function above it: the cost of its statements lies in it, and what they call below it.',
	'Colours tell the layers apart; operators of a backward pass are redder. Fold a layer away in the legend to see, for example, Python and operators alone: the cost of folded frames goes to their callers.',
	'The page holds the sum over all threads and processes. For one thread alone use “sonde report --view threads”.',
];

export function helpDialog<S extends Common>(store: Store<S>, reading: readonly string[], keyTexts: KeyTexts): {
	readonly element: HTMLElement; update(state: S): void;
} {
	const close = (): void => store.update({ help: false } as Partial<S>);
	const keys = keyTexts.map(([key, does]) => h('tr', {}, h('th', { scope: 'row' }, h('kbd', {}, key)), h('td', {}, does)));
	const closer = h('button', { type: 'button', class: 'bare', 'aria-label': 'Close help', onclick: close }, icon(ICONS.close));
	const panel = h('dialog', {
		class: 'help', 'aria-label': 'Help',
		onclose: close,
		onclick: (event: MouseEvent) => {
			if (event.target === panel) close();
		},
	}, h('div', { class: 'help-inner' },
		h('div', { class: 'help-head' }, h('h2', {}, 'Reading and moving'), closer),
		...reading.map((text) => h('p', {}, text)),
		h('table', {}, h('tbody', {}, ...keys))));
	return {
		element: panel,
		update: (state) => {
			if (state.help && !panel.open) panel.showModal();
			if (!state.help && panel.open) panel.close();
		},
	};
}

export function createHelp(app: App): View {
	return helpDialog(app.store, READING, KEYS);
}
