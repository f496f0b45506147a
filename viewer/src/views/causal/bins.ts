/* SPDX-License-Identifier: Apache-2.0 */
/* The bins over time: as tall as their standard deviation, those that vary most marked. */
import { readPaint } from '../../canvas/theme.ts';
import type { OverTime, TimeBin } from '../../format/causal.ts';
import { deviationsOf, pixelsOf, stepOf, stripOf, topBins } from '../../logic/causes.ts';
import type { Strip } from '../../logic/causes.ts';
import { INK } from '../../logic/colour.ts';
import { ticksOf } from '../../logic/tracks.ts';
import { formatTime, formatValue, grouped } from '../../logic/units.ts';
import { h } from '../dom.ts';
import { Note } from '../note.ts';
import type { CausesApp, CausesState, CausesView } from './state.ts';

const [TOP, PLOT, BOTTOM] = [18, 76, 18];

export class BinsView implements CausesView {
	readonly element: HTMLElement;
	readonly note = new Note();
	private readonly canvas = h('canvas');
	private readonly stage: HTMLElement;
	private readonly top: ReadonlyMap<number, TimeBin>; /* by step, the first of it */
	private readonly unit: string;
	private strip: Strip;

	constructor(private readonly app: CausesApp, private readonly overTime: OverTime) {
		const { bins, rankedBy } = app.causes;
		const top = topBins(bins);
		this.top = new Map([...top].reverse().map((bin) => [stepOf(overTime, bin), bin]));
		this.unit = rankedBy.startsWith('log_') ? '1' : 'ns';
		this.strip = stripOf(overTime, 1);
		const most = formatValue(this.strip.most, this.unit);
		const what = rankedBy === 'duration_ns' ? 'the durations' : rankedBy;
		this.stage = h('div', { class: 'stage-tracks', id: 'strip', role: 'img', 'aria-label': `${overTime.bins} bins; the greatest deviation is ${most}` }, this.canvas);
		this.element = h('section', { class: 'picture', id: 'bins', tabindex: -1, 'aria-label': 'Bins over time' },
			h('h2', {}, 'Variation over time'), this.stage,
			h('p', { class: 'remark' }, `${grouped(overTime.bins)} bins; height: standard deviation of ${what} in a bin, up to ${most}. ` +
				(overTime.bins_each > 1 ? `Of each ${grouped(overTime.bins_each)} bins that follow each other the one that varies most is drawn. ` : '') +
				(top.length > 0 ? `Marked: the ${top.length} with the greatest variance${this.top.size < top.length ? ', of which some lie beside each other' : ''}.` : '')));
		this.listen();
	}

	update(_state: CausesState, changed: ReadonlySet<string>): void {
		if (changed.size === 0 || changed.has('theme')) this.draw();
	}

	draw(): void {
		const width = Math.floor(this.stage.clientWidth);
		if (width === 0) return;
		const density = window.devicePixelRatio || 1;
		const paint = readPaint(this.app.theme(), INK[this.app.theme()]);
		this.strip = stripOf(this.overTime, width);
		const deviations = deviationsOf(this.overTime);
		const length_ns = deviations.length * this.overTime.step_ns;
		const { columns, most } = this.strip;
		const height = TOP + PLOT + BOTTOM;
		this.canvas.width = Math.round(width * density);
		this.canvas.height = Math.round(height * density);
		this.canvas.style.height = `${height}px`;
		const context = this.canvas.getContext('2d')!;
		context.setTransform(density, 0, 0, density, 0, 0);
		context.font = `11px ${paint.font}`;
		for (const time of ticksOf(length_ns, width)) {
			const x = Math.round((time / length_ns) * width);
			context.fillStyle = paint.grid;
			context.fillRect(x, TOP, 1, PLOT + 4);
			context.fillStyle = paint.restInk;
			const text = time > 0 ? formatTime(time) : '0';
			if (x + context.measureText(text).width + 4 < width) context.fillText(text, x + 3, height - 5);
		}
		const heightOf = (step: number): number => (most > 0 ? Math.max(1, (deviations[step]! / most) * PLOT) : 1);
		context.fillStyle = paint.rest;
		columns.forEach((step, x) => {
			if (step !== null) context.fillRect(x, TOP + PLOT - heightOf(step), 1, heightOf(step));
		});
		/* marks are drawn over the rest: a taller step may lie at the same pixel */
		for (const [step, bin] of this.top) {
			const [from, to] = pixelsOf(step, deviations.length, columns.length);
			context.fillStyle = paint.hot;
			context.fillRect(from, TOP + PLOT - heightOf(step), to - from, heightOf(step));
			context.fillStyle = paint.line;
			context.fillText(String(bin.rank), Math.min(from, width - 8), TOP + PLOT - heightOf(step) - 4);
		}
		context.fillStyle = paint.line;
		context.fillRect(0, TOP + PLOT, width, 1);
	}

	private listen(): void {
		new ResizeObserver(() => this.draw()).observe(this.stage);
		this.stage.addEventListener('pointermove', (event) => {
			const step = this.strip.columns[Math.floor(event.clientX - this.stage.getBoundingClientRect().left)] ?? null;
			if (step === null) {
				this.note.hide();
				return;
			}
			const { step_ns } = this.overTime;
			const top = this.top.get(step);
			this.note.fill(h('div', { class: 'name' }, `${formatTime(step * step_ns)} to ${formatTime((step + 1) * step_ns)}`),
				h('div', { class: 'where' }, `standard deviation ${formatValue(deviationsOf(this.overTime)[step]!, this.unit)}${top ? `, rank ${top.rank}` : ''}`));
			this.note.place(event.clientX, event.clientY);
		});
		this.stage.addEventListener('pointerleave', () => this.note.hide());
	}
}
