/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel coordinates with brushes: dragging on an axis takes the rows within, on several axes those within all. */
import { AXES_BOTTOM, AXES_TOP, axisX, axisY, ParallelCanvas } from '../../canvas/parallel.ts';
import { readPaint } from '../../canvas/theme.ts';
import type { Parallel } from '../../format/causal.ts';
import { INK } from '../../logic/colour.ts';
import { bandsOfAll, bandsOfBrush, brushBetween, brushText, labelsOf, stretchOfBrush } from '../../logic/parallel.ts';
import type { Band, Brushed } from '../../logic/parallel.ts';
import { formatShare, grouped } from '../../logic/units.ts';
import { h } from '../dom.ts';
import type { CausesApp, CausesState, CausesView } from './state.ts';

const HEIGHT = 430;
const LABELS = 14;
const CATEGORY_LABELS = 31;
/* How near to an axis a brush begins, and how little movement is a click. */
const NEAR = 26;
const CLICK = 3;

export class ParallelView implements CausesView {
	readonly element: HTMLElement;
	private readonly stage: HTMLElement;
	private readonly canvas: ParallelCanvas;
	private readonly all: Band[][];
	private readonly told = h('p', { class: 'brushed', id: 'brushed', 'aria-live': 'polite' });
	private readonly clear = h('button', { type: 'button', class: 'action', id: 'clear-brushes', hidden: true, onclick: () => this.app.store.update({ brushes: new Map() }) }, 'Show all');
	private brushed: Brushed | null = null;

	constructor(private readonly app: CausesApp, private readonly parallel: Parallel) {
		const canvas = h('canvas');
		this.stage = h('div', { class: 'stage-tracks', id: 'coordinates', role: 'img', 'aria-label': `Parallel coordinates of ${parallel.axes.map(({ name }) => name).join(', ')}` }, canvas);
		this.canvas = new ParallelCanvas(canvas, this.paint());
		this.all = bandsOfAll(parallel);
		const grouped_axes = parallel.axes.filter(({ bins, group_count }) => group_count < bins.length)
			.map(({ name, bins, group_count }) => `${name} ${bins.length} bins in ${group_count}`);
		this.element = h('section', { class: 'picture', id: 'parallel', tabindex: -1, 'aria-label': 'Parallel coordinates' },
			h('h2', {}, 'Parallel coordinates'),
			parallel.rows > 0 ? this.stage : h('p', { class: 'none' }, 'There are no rows.'),
			h('div', { class: 'brush-line' }, this.told, this.clear),
			h('p', { class: 'remark' }, `All ${grouped(parallel.rows)} rows are in the picture; none is left out or sampled. The more rows, the darker (by the logarithm). `,
				'Drag along an axis to brush it, click to take one group. ',
				grouped_axes.length > 0 ? `A brush is exact for groups of bins, which it takes whole: ${grouped_axes.join('; ')}.` : 'A brush is exact for bins, which it takes whole.'));
		if (parallel.rows > 0) this.listen();
	}

	update(state: CausesState, changed: ReadonlySet<string>): void {
		if (changed.size > 0 && !changed.has('theme') && !changed.has('brushes')) return;
		this.canvas.setPaint(this.paint());
		const { axes, rows } = this.parallel;
		this.brushed = state.brushes.size > 0 ? bandsOfBrush(this.parallel, state.brushes) : null;
		this.clear.hidden = !this.brushed;
		this.told.textContent = this.brushed
			? `Brushed: ${grouped(this.brushed.rows)} of ${grouped(rows)} rows (${formatShare(this.brushed.rows, rows)}), ${[...state.brushes].sort(([a], [b]) => a - b).map(([axis, brush]) => brushText(axes[axis]!, brush)).join('; ')}`
			: `${grouped(rows)} rows`;
		this.draw();
	}

	private paint(): ReturnType<typeof readPaint> {
		return readPaint(this.app.theme(), INK[this.app.theme()]);
	}

	private draw(): void {
		const width = this.stage.clientWidth;
		if (width === 0) return;
		const { axes } = this.parallel;
		this.canvas.draw({
			height: HEIGHT, names: axes.map(({ name }) => name),
			labels: axes.map((axis) => labelsOf(axis, axis.scale === 'category' ? CATEGORY_LABELS : LABELS)),
			all: this.all, brushed: this.brushed?.bands ?? null,
			brushes: new Map([...this.app.store.state.brushes].map(([axis, brush]) => [axis, stretchOfBrush(axes[axis]!, brush)])),
		}, width);
	}

	/* The axis that is near, or -1. */
	private axisAt(x: number): number {
		const { axes } = this.parallel;
		const near = axes.map((_, i) => Math.abs(axisX(i, axes.length, this.stage.clientWidth) - x));
		const best = near.indexOf(Math.min(...near));
		return near[best]! <= NEAR ? best : -1;
	}

	private listen(): void {
		const { store } = this.app;
		new ResizeObserver(() => this.draw()).observe(this.stage);
		let [axis, begin] = [-1, 0];
		const placeOf = (event: PointerEvent): number => {
			const y = event.clientY - this.stage.getBoundingClientRect().top;
			return Math.min(1, Math.max(0, (HEIGHT - AXES_BOTTOM - y) / (HEIGHT - AXES_TOP - AXES_BOTTOM)));
		};
		const xOf = (event: PointerEvent): number => event.clientX - this.stage.getBoundingClientRect().left;
		this.stage.addEventListener('pointerdown', (event) => {
			axis = event.button === 0 ? this.axisAt(xOf(event)) : -1;
			if (axis < 0) return;
			begin = placeOf(event);
			this.stage.setPointerCapture(event.pointerId);
			event.preventDefault();
		});
		this.stage.addEventListener('pointermove', (event) => {
			this.stage.style.cursor = this.axisAt(xOf(event)) >= 0 ? 'ns-resize' : '';
			if (axis < 0 || Math.abs(axisY(placeOf(event), HEIGHT) - axisY(begin, HEIGHT)) <= CLICK) return;
			store.update({ brushes: new Map(store.state.brushes).set(axis, brushBetween(this.parallel.axes[axis]!, begin, placeOf(event))) });
		});
		this.stage.addEventListener('pointerup', (event) => {
			if (axis >= 0 && Math.abs(axisY(placeOf(event), HEIGHT) - axisY(begin, HEIGHT)) <= CLICK) this.click(axis, begin);
			axis = -1;
		});
	}

	/* Within a brush takes it away, else brushes one group. */
	private click(axis: number, place: number): void {
		const { store } = this.app;
		const brushes = new Map(store.state.brushes);
		const one = brushBetween(this.parallel.axes[axis]!, place, place);
		const before = brushes.get(axis);
		if (before && one[0] >= before[0] && one[0] <= before[1]) brushes.delete(axis);
		else brushes.set(axis, one);
		store.update({ brushes });
	}
}
