/* SPDX-License-Identifier: Apache-2.0 */
/* The bins over time: as tall as their standard deviation, those that vary most marked. */
import { readPaint } from '../../canvas/theme.ts';
import type { TimeBin } from '../../format/causal.ts';
import { stripOf, topBins } from '../../logic/causes.ts';
import type { Strip } from '../../logic/causes.ts';
import { INK } from '../../logic/colour.ts';
import { ticksOf } from '../../logic/tracks.ts';
import { formatTime, grouped } from '../../logic/units.ts';
import { h } from '../dom.ts';
import { Note } from '../note.ts';
import type { CausesApp, CausesState, CausesView } from './state.ts';

const [TOP, PLOT, BOTTOM] = [18, 76, 18];

export class BinsView implements CausesView {
	readonly element: HTMLElement;
	readonly note = new Note();
	private readonly canvas = h('canvas');
	private readonly stage: HTMLElement;
	private readonly top: ReadonlySet<TimeBin>;
	private strip: Strip;

	constructor(private readonly app: CausesApp) {
		const { bins } = app.causes;
		const top = topBins(bins);
		this.top = new Set(top);
		this.strip = stripOf(bins, 1);
		this.stage = h('div', { class: 'stage-tracks', id: 'strip', role: 'img', 'aria-label': `${bins.length} bins; the greatest deviation is ${formatTime(this.strip.most)}` }, this.canvas);
		this.element = h('section', { class: 'picture', id: 'bins', tabindex: -1, 'aria-label': 'Bins over time' },
			h('h2', {}, 'Variation over time'), this.stage,
			h('p', { class: 'remark' }, `${grouped(bins.length)} bins; height: standard deviation of the durations in a bin, up to ${formatTime(this.strip.most)}. ` +
				(top.length > 0 ? `Marked: the ${top.length} with the greatest variance.` : '')));
		this.listen();
	}

	update(_state: CausesState, changed: ReadonlySet<string>): void {
		if (changed.size === 0 || changed.has('theme')) this.draw();
	}

	/* The bin drawn at a pixel of the strip. */
	binAt(x: number): TimeBin | null {
		return this.strip.columns[Math.floor(x)] ?? null;
	}

	draw(): void {
		const width = Math.floor(this.stage.clientWidth);
		if (width === 0) return;
		const density = window.devicePixelRatio || 1;
		const paint = readPaint(this.app.theme(), INK[this.app.theme()]);
		this.strip = stripOf(this.app.causes.bins, width);
		const { columns, most, begin_ns, end_ns } = this.strip;
		const height = TOP + PLOT + BOTTOM;
		this.canvas.width = Math.round(width * density);
		this.canvas.height = Math.round(height * density);
		this.canvas.style.height = `${height}px`;
		const context = this.canvas.getContext('2d')!;
		context.setTransform(density, 0, 0, density, 0, 0);
		context.font = `11px ${paint.font}`;
		for (const time of ticksOf(end_ns - begin_ns, width)) {
			const x = Math.round((time / (end_ns - begin_ns)) * width);
			context.fillStyle = paint.grid;
			context.fillRect(x, TOP, 1, PLOT + 4);
			context.fillStyle = paint.restInk;
			const text = time > 0 ? formatTime(time) : '0';
			if (x + context.measureText(text).width + 4 < width) context.fillText(text, x + 3, height - 5);
		}
		const labelled = new Set<TimeBin>();
		columns.forEach((bin, x) => {
			if (!bin) return;
			const tall = most > 0 ? Math.max(1, (Math.sqrt(bin.variance) / most) * PLOT) : 1;
			const isTop = this.top.has(bin);
			context.fillStyle = isTop ? paint.hot : paint.rest;
			context.fillRect(x, TOP + PLOT - tall, 1, tall);
			if (!isTop || labelled.has(bin)) return;
			labelled.add(bin);
			context.fillStyle = paint.line;
			context.fillText(String(bin.rank), Math.min(x, width - 8), TOP + PLOT - tall - 4);
		});
		context.fillStyle = paint.line;
		context.fillRect(0, TOP + PLOT, width, 1);
	}

	private listen(): void {
		new ResizeObserver(() => this.draw()).observe(this.stage);
		this.stage.addEventListener('pointermove', (event) => {
			const bin = this.binAt(event.clientX - this.stage.getBoundingClientRect().left);
			if (!bin) {
				this.note.hide();
				return;
			}
			const from = bin.start_ns - this.strip.begin_ns;
			this.note.fill(h('div', { class: 'name' }, `${formatTime(from)} to ${formatTime(bin.end_ns - this.strip.begin_ns)}`),
				h('div', { class: 'where' }, `standard deviation ${formatTime(Math.sqrt(bin.variance))}${bin.rank === null || bin.rank === undefined ? '' : `, rank ${bin.rank}`}`));
			this.note.place(event.clientX, event.clientY);
		});
		this.stage.addEventListener('pointerleave', () => this.note.hide());
	}
}
