/* SPDX-License-Identifier: Apache-2.0 */
/* All sheets one below the other, and the list of them beside it with what is searched for. */
import type { Sheet } from '../../format/timeline.ts';
import { withMicro } from '../../logic/sheet.ts';
import { grouped } from '../../logic/units.ts';
import { h, icon, ICONS } from '../dom.ts';
import { createCurves } from './curve.ts';
import type { SheetsApp, SheetsState } from './state.ts';
import { createTable } from './table.ts';

/* From this width on the list stands beside the sheets, and is open. */
const WIDE = 900;

interface Section {
	readonly sheet: Sheet;
	readonly element: HTMLElement;
	/* Whether the sheet is shown, and how many of its rows are found. */
	update(state: SheetsState): { shown: boolean; rows: number };
}

function notesOf(sheet: Sheet): HTMLElement[] {
	const missing = sheet.row_count - sheet.rows.length;
	return [
		...(missing > 0 ? [`${grouped(missing)} more rows are in the JSON.`] : []),
		...(sheet.left_out > 0 ? [`${grouped(sheet.left_out)} more rows are left out.`] : []),
		...sheet.notes,
	].map((text) => h('p', { class: 'remark' }, withMicro(text)));
}

function createSection(app: SheetsApp, sheet: Sheet): Section {
	const isCurve = sheet.shape === 'series';
	const table = !isCurve && sheet.rows.length > 0 ? createTable(app, sheet) : null;
	const content = isCurve ? createCurves(sheet) : table?.element ?? (sheet.notes.length > 0 ? null : h('p', { class: 'none' }, 'Nothing of it is recorded.'));
	const element = h('section', { class: 'sheet', id: sheet.key, tabindex: -1 }, h('h2', {}, withMicro(sheet.title)), content, ...notesOf(sheet));
	let last: SheetsState | undefined;
	let result = { shown: true, rows: 0 };
	return {
		sheet,
		element,
		update: (state) => {
			const is = (value: (of: SheetsState) => unknown): boolean => last !== undefined && value(last) === value(state);
			if (is((of) => of.query) && is((of) => of.sorts.get(sheet.key)) && is((of) => of.whole.has(sheet.key)) && is((of) => of.wide.has(sheet.key))) return result;
			last = state;
			const rows = table?.update(state) ?? 0;
			result = { shown: !state.query || rows > 0 || (isCurve && sheet.title.toLowerCase().includes(state.query.toLowerCase())), rows };
			element.hidden = !result.shown;
			return result;
		},
	};
}

/* What is typed is searched for at once: a page holds a few thousand rows. */
function createSearch(app: SheetsApp): { element: HTMLElement; input: HTMLInputElement; found: HTMLOutputElement } {
	const input = h('input', {
		type: 'search', id: 'search', placeholder: 'Search the tables   /', spellcheck: 'false', autocomplete: 'off', 'aria-label': 'Search the tables',
		oninput: () => app.store.update({ query: input.value.trim() }),
	});
	const found = h('output', { class: 'found', id: 'found', 'aria-live': 'polite' });
	return { element: h('div', { class: 'search', role: 'search' }, icon(ICONS.search), input, found), input, found };
}

export interface Sheets {
	readonly element: HTMLElement;
	readonly contents: HTMLElement;
	readonly search: HTMLInputElement;
	/* `changed` is empty where all is to be shown anew. */
	update(state: SheetsState, changed: ReadonlySet<string>): void;
	/* To the next (1) or previous (-1) sheet that is shown. */
	step(by: 1 | -1): void;
}

/* `pictures` are what the list names before the sheets: ids and titles of other parts of the page. */
export function createSheets(app: SheetsApp, pictures: readonly (readonly [id: string, title: string])[] = []): Sheets {
	const { sheets, curves_left_out } = app.timeline;
	const sections = sheets.map((sheet) => createSection(app, sheet));
	const links = sheets.map((sheet) => h('li', {}, h('a', { href: `#${sheet.key}`, title: withMicro(sheet.title) }, withMicro(sheet.title))));
	const search = createSearch(app);
	const nothing = h('p', { class: 'none', hidden: true }, 'No table has it.');
	const list = h('details', { open: innerWidth >= WIDE }, h('summary', {}, 'Contents'), h('ol', {}, ...pictures.map(([id, title]) => h('li', {}, h('a', { href: `#${id}` }, title))), ...links));
	return {
		element: h('div', { class: 'sheets' }, ...sections.map(({ element }) => element), nothing,
			curves_left_out > 0 && h('p', { class: 'remark' }, `${grouped(curves_left_out)} more curves are in the JSON.`)),
		contents: h('nav', { class: 'contents', 'aria-label': 'Contents' }, search.element, list),
		search: search.input,
		step: (by) => {
			const shown = sections.filter(({ element }) => !element.hidden);
			const below = shown.findIndex(({ element }) => element.getBoundingClientRect().top > 80);
			const next = by > 0 ? below : (below < 0 ? shown.length : below) - 2;
			const to = shown[Math.max(0, next < 0 && by > 0 ? shown.length - 1 : next)];
			to?.element.scrollIntoView();
			to?.element.focus({ preventScroll: true });
		},
		update: (state, changed) => {
			if (changed.size > 0 && !changed.has('query') && !changed.has('sorts') && !changed.has('whole') && !changed.has('wide')) return;
			if (search.input.value.trim() !== state.query) search.input.value = state.query;
			let rows = 0;
			let shown = 0;
			sections.forEach((section, i) => {
				const result = section.update(state);
				rows += result.rows;
				shown += Number(result.shown);
				links[i]!.hidden = !result.shown;
			});
			nothing.hidden = shown > 0 || !state.query;
			search.found.textContent = !state.query ? '' : shown === 0 ? 'no match' : `${grouped(rows)} row${rows === 1 ? '' : 's'}`;
		},
	};
}
