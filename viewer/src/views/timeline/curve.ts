/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet as curves over time, a step for each row; what the values are at the pointer is told above. */
import type { Sheet } from '../../format/timeline.ts';
import { formatCell } from '../../logic/sheet.ts';
import { h } from '../dom.ts';

const SPACE = 'http://www.w3.org/2000/svg';
const MOST_CURVES = 4;
const [WIDTH, HEIGHT, TIMES] = [1000, 100, 5];

function drawing(tag: string, attributes: Record<string, string>): SVGElement {
	const element = document.createElementNS(SPACE, tag);
	for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
	return element;
}

function valueAt(sheet: Sheet, row: number, column: number): number {
	return Number(sheet.rows[row]![column] ?? 0);
}

function pathOf(sheet: Sheet, column: number, most: number): string {
	const y = (row: number): string => (HEIGHT - (most > 0 ? valueAt(sheet, row, column) / most : 0) * HEIGHT).toFixed(2);
	const steps = sheet.rows.map((_, row) => `V${y(row)}H${((WIDTH * (row + 1)) / sheet.rows.length).toFixed(2)}`);
	return `M0,${y(0)}${steps.join('')}`;
}

export function createCurves(sheet: Sheet): HTMLElement {
	const { rows, columns } = sheet;
	const last = Math.min(columns.length, MOST_CURVES + 1);
	const curves = Array.from({ length: last - 1 }, (_, i) => i + 1);
	if (rows.length < 2) return h('p', { class: 'none' }, 'There are too few values for a curve.');
	const most = Math.max(0, ...rows.flatMap((_, row) => curves.map((column) => valueAt(sheet, row, column))));
	const svg = drawing('svg', { viewBox: `0 -2 ${WIDTH} ${HEIGHT + 4}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
	for (const column of curves)
		svg.append(drawing('path', { d: pathOf(sheet, column, most), class: `curve-${column}`, 'vector-effect': 'non-scaling-stroke' }));
	const values = curves.map(() => h('b'));
	const time = h('span', { class: 'at' });
	const rule = h('span', { class: 'rule', hidden: true });
	const plot = h('div', { class: 'plot', tabindex: 0, role: 'img', 'aria-label': `${sheet.title}: up to ${formatCell(columns[1]!, most)}` }, rule);
	plot.prepend(svg);
	let at = -1;
	const show = (row: number): void => {
		at = row;
		rule.hidden = row < 0;
		rule.style.left = `${(100 * (row + 0.5)) / rows.length}%`;
		time.textContent = row < 0 ? '' : `at ${formatCell(columns[0]!, rows[row]![0] ?? null)}`;
		values.forEach((value, i) => {
			const column = columns[i + 1]!;
			const greatest = Math.max(...rows.map((_, each) => valueAt(sheet, each, i + 1)));
			value.textContent = row < 0 ? `up to ${formatCell(column, greatest)}` : formatCell(column, rows[row]![i + 1] ?? null);
		});
	};
	plot.addEventListener('pointermove', (event) => {
		const { left, width } = plot.getBoundingClientRect();
		show(Math.max(0, Math.min(rows.length - 1, Math.floor(((event.clientX - left) / width) * rows.length))));
	});
	for (const event of ['pointerleave', 'blur']) plot.addEventListener(event, () => show(-1));
	plot.addEventListener('keydown', (event) => {
		const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
		if (!by) return;
		show(at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by)));
		event.preventDefault();
	});
	show(-1);
	const times = Array.from({ length: TIMES }, (_, i) => rows[Math.round(((rows.length - 1) * i) / (TIMES - 1))]![0] ?? null);
	return h('figure', { class: 'curves' },
		h('figcaption', {}, ...curves.map((column, i) => h('span', { class: `key curve-${column}` }, columns[column]!.head, ' ', values[i]!)), time),
		plot,
		h('div', { class: 'times' }, ...times.map((each) => h('span', {}, formatCell(columns[0]!, each)))));
}
