/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet as a table: sorted by the head that is chosen, the first rows first, shares as bars. */
import type { Cell, Column, Sheet } from '../../format/timeline.ts';
import { barOf, formatCell, isShown, isText, nextSort, rowsFound, rowsShown } from '../../logic/sheet.ts';
import { grouped } from '../../logic/units.ts';
import { h } from '../dom.ts';
import type { SheetsApp, SheetsState } from './state.ts';

function cellOf(column: Column, cell: Cell): HTMLElement {
	const text = formatCell(column, cell);
	const minor = column.is_minor ? ' minor' : '';
	if (isText(column)) return h('td', { class: `text${minor}`, title: text.length > 24 && text }, text);
	const bar = barOf(column, cell);
	const element = h('td', { class: (Number.isNaN(bar) ? 'number' : 'number bar') + minor }, text);
	if (!Number.isNaN(bar)) element.style.setProperty('--bar-length', `${(100 * bar).toFixed(1)}%`);
	return element;
}

/* The heads, each a button that sorts; update() tells them the sort in force. */
function createHeads(app: SheetsApp, sheet: Sheet): { element: HTMLElement; update(state: SheetsState): void } {
	const sortBy = (column: number): void => {
		const sorts = new Map(app.store.state.sorts);
		const sort = nextSort(sheet.columns, sorts.get(sheet.key), column);
		if (sort) sorts.set(sheet.key, sort);
		else sorts.delete(sheet.key);
		app.store.update({ sorts });
	};
	const heads = sheet.columns.map((column, i) => h('th', { scope: 'col', class: [isText(column) && 'text', column.is_minor && 'minor'].filter(Boolean).join(' ') },
		h('button', { type: 'button', onclick: () => sortBy(i) }, column.head || (isText(column) ? '' : column.key))));
	return {
		element: h('thead', {}, h('tr', {}, ...heads.filter((_, i) => isShown(sheet.columns[i]!)))),
		update: (state) => {
			const sort = state.sorts.get(sheet.key);
			heads.forEach((head, i) => {
				if (sort?.column === i) head.setAttribute('aria-sort', sort.descending ? 'descending' : 'ascending');
				else head.removeAttribute('aria-sort');
			});
		},
	};
}

export interface TableView {
	readonly element: HTMLElement;
	/* Returns how many rows there are under the query. */
	update(state: SheetsState): number;
}

export function createTable(app: SheetsApp, sheet: Sheet): TableView {
	const heads = createHeads(app, sheet);
	const body = h('tbody');
	const more = h('button', {
		type: 'button', class: 'action more',
		onclick: () => app.store.update({ whole: new Set([...app.store.state.whole, sheet.key]) }),
	});
	const hasMinor = sheet.columns.some(({ is_minor }) => is_minor);
	const wider = h('button', {
		type: 'button', class: 'action wider', hidden: !hasMinor,
		onclick: () => {
			const wide = new Set(app.store.state.wide);
			if (!wide.delete(sheet.key)) wide.add(sheet.key);
			app.store.update({ wide });
		},
	});
	const table = h('table', {}, heads.element, body);
	const shown = sheet.columns.map((column, i) => [column, i] as const).filter(([column]) => isShown(column));
	return {
		element: h('div', {}, h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': sheet.title }, table), more, wider),
		update: (state) => {
			const found = rowsFound(sheet, state.query, state.sorts.get(sheet.key));
			const count = rowsShown(sheet, found.length, state.whole.has(sheet.key));
			const isWide = state.wide.has(sheet.key);
			heads.update(state);
			table.classList.toggle('narrow', hasMinor && !isWide);
			wider.textContent = isWide ? 'Show fewer columns' : 'Show all columns';
			wider.setAttribute('aria-pressed', String(isWide));
			body.replaceChildren(...found.slice(0, count).map((row) =>
				h('tr', {}, ...shown.map(([column, i]) => cellOf(column, sheet.rows[row]![i] ?? null)))));
			more.hidden = count === found.length;
			more.textContent = `Show all ${grouped(found.length)}`;
			return found.length;
		},
	};
}
