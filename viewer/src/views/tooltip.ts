/* SPDX-License-Identifier: Apache-2.0 */
/* The note at a box of the flame graph: what it is and what it costs in the metric shown. */
import { formulaAt } from '../logic/formula.ts';
import type { Box } from '../logic/layout.ts';
import { markOf, moduleOf, nameOf, placeOf, sourceOf } from '../logic/label.ts';
import { byLine, kindOf } from '../logic/keys.ts';
import { ROOT } from '../logic/tree.ts';
import { formatShare, formatValue, grouped } from '../logic/units.ts';
import type { App } from './app.ts';
import { h } from './dom.ts';
import { Note } from './note.ts';

function row(name: string, value: string, share: string): HTMLElement {
	return h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'number' }, value), h('td', { class: 'number' }, share));
}

function restContent(app: App, box: Box): HTMLElement[] {
	const { tree } = app;
	return [
		h('div', { class: 'name' }, `${grouped(box.rest)} narrow boxes`),
		h('div', { class: 'where' }, 'Together; click to see them'),
		h('table', {}, row('Total', formatValue(box.weight, app.model.unit(app.state)), formatShare(box.weight, tree.total))),
	];
}

function nodeContent(app: App, node: number): HTMLElement[] {
	const { tree, state, model } = app;
	const unit = model.unit(state);
	const frame = tree.frameOf(node);
	const kind = [kindOf(model.profile, frame), markOf(model.profile, frame)].filter((text, i, all) => text && all.indexOf(text) === i);
	const where = [placeOf(model.profile, frame, state.granularity, true), moduleOf(model.profile, frame)].filter((text) => text);
	const source = byLine(model.profile, frame, state.granularity) ? sourceOf(model.profile, frame) : '';
	const weight = tree.weight[node]!;
	const own = tree.own[node]!;
	const bottomUp = state.direction === 'bottom-up';
	const rows = [row(bottomUp ? 'Own cost along this path' : 'Total', formatValue(weight, unit), formatShare(weight, tree.total))];
	if (!bottomUp) rows.push(row('Own', formatValue(own, unit), formatShare(own, tree.total)));
	if (node !== ROOT) rows.push(row(bottomUp ? 'Of the callee' : 'Of the caller', '', formatShare(weight, tree.weight[tree.parent[node]!]!)));
	const formula = model.formula(state);
	if (formula) {
		const value = (exclusive: boolean): string => formatValue(formulaAt(tree, node, formula, exclusive), formula.unit);
		rows.push(row(formula.name, value(bottomUp), ''));
		if (!bottomUp) rows.push(row(`${formula.name}, own`, value(true), ''));
	}
	return [
		h('div', { class: 'name' }, nameOf(model.profile, frame)),
		h('div', { class: 'where' }, node === ROOT ? 'everything that was measured' : kind.join(', ')),
		...where.map((text) => h('div', { class: 'where' }, text)),
		...(source ? [h('code', { class: 'source' }, source)] : []),
		h('table', {}, ...rows),
	];
}

export class Tooltip extends Note {
	private shown: Box | undefined;

	constructor(private readonly app: App) {
		super();
	}

	show(box: Box, x: number, y: number): void {
		if (this.shown?.node !== box.node || this.shown.rest !== box.rest || this.element.hidden) {
			this.fill(...(box.rest > 0 ? restContent(this.app, box) : nodeContent(this.app, box.node)));
			this.shown = box;
		}
		this.place(x, y);
	}

	override hide(): void {
		super.hide();
		this.shown = undefined;
	}
}
