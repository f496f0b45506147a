/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a timeline's page: which rows are shown, in which order, and how their cells read. */
import type { Cell, Column, Sheet } from '../format/timeline.ts';
import { formatShare, formatValue, grouped } from './units.ts';

const FIRST_ROWS = 15;
const WORTH_A_CLICK = 3;

export interface Sort {
	readonly column: number;
	readonly descending: boolean;
}

export function isText(column: Column): boolean {
	return column.unit === '';
}

export function isShown(column: Column): boolean {
	return column.unit !== 'id';
}

function formatRatio(value: number): string {
	if (value < 0) return `−${formatRatio(-value)}`;
	return value > 1 ? formatValue(value, 'ratio') : formatShare(value, 1);
}

export function formatCell(column: Column, cell: Cell): string {
	if (cell === null) return '';
	if (typeof cell === 'string') return cell;
	if (column.unit === 'ratio') return formatRatio(cell);
	if (column.unit === 'count' || column.unit === 'id') return grouped(cell);
	return formatValue(cell, column.unit);
}

/* How long the bar of a share is, from 0 to 1; NaN: it has none. */
export function barOf(column: Column, cell: Cell): number {
	return column.unit === 'ratio' && typeof cell === 'number' ? Math.min(1, Math.max(0, cell)) : NaN;
}

/* The rows of which a text has the query, without regard to case, as they are sorted. */
export function rowsFound(sheet: Sheet, query: string, sort: Sort | undefined): number[] {
	const wanted = query.toLowerCase();
	const found: number[] = [];
	sheet.rows.forEach((row, i) => {
		if (!wanted || row.some((cell) => typeof cell === 'string' && cell.toLowerCase().includes(wanted))) found.push(i);
	});
	if (!sort) return found;
	const sign = sort.descending ? -1 : 1;
	const cellOf = (row: number): Cell => sheet.rows[row]![sort.column] ?? null;
	return found.sort((i, j) => {
		const [a, b] = [cellOf(i), cellOf(j)];
		if (a === null || b === null) return a === b ? i - j : a === null ? 1 : -1; /* what is empty goes last */
		const order = typeof a === 'string' ? a.localeCompare(String(b)) : a - Number(b);
		return order ? sign * order : i - j;
	});
}

/* How many of the rows found are shown before all of them are asked for. */
export function rowsShown(sheet: Sheet, found: number, whole: boolean): number {
	return whole || sheet.is_whole || found <= FIRST_ROWS + WORTH_A_CLICK ? found : FIRST_ROWS;
}

/* The next sort when a column's head is chosen: the greatest number first, texts from A, then the other way, then none. */
export function nextSort(columns: readonly Column[], sort: Sort | undefined, column: number): Sort | undefined {
	const first = !isText(columns[column]!);
	if (sort?.column !== column) return { column, descending: first };
	return sort.descending === first ? { column, descending: !first } : undefined;
}

/* Times in texts as the tables have them. */
export function withMicro(text: string): string {
	return text.replace(/(\d) us\b/g, '$1 µs');
}

/* "Where the time goes: of ...": what a sentence answers, and the answer as a sentence of its own. */
export function partsOf(text: string): [what: string, answer: string] {
	const sentence = withMicro(text);
	const colon = sentence.indexOf(': ');
	if (colon < 0 || colon >= 40) return ['', sentence];
	const answer = sentence.slice(colon + 2);
	/* the name of a node stays as it is */
	return [sentence.slice(0, colon), /^(of|no) /.test(answer) ? answer[0]!.toUpperCase() + answer.slice(1) : answer];
}
