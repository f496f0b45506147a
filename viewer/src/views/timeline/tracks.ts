/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of the timeline: a row for each lane of each stream and thread, coloured by layer. */
import { readPaint } from '../../canvas/theme.ts';
import { TracksCanvas } from '../../canvas/tracks.ts';
import { css, INK, LAYERS, layerSwatch } from '../../logic/colour.ts';
import { boxAtPoint, boxBeside, boxOf, layOutTracks, ROW, stretchOf, ticksOf } from '../../logic/tracks.ts';
import type { BoxAt, TracksLayout } from '../../logic/tracks.ts';
import { formatTime } from '../../logic/units.ts';
import { h } from '../dom.ts';
import { Note } from '../note.ts';
import type { TimelineApp, TimelineView } from './state.ts';

function layerLabel(layer: string): string {
	return LAYERS.find(({ id }) => id === layer)?.label ?? layer;
}

export class Tracks implements TimelineView {
	readonly element: HTMLElement;
	readonly note = new Note();
	private readonly legend = h('div', { class: 'legend' });
	private readonly stage: HTMLElement;
	private readonly canvas: TracksCanvas;
	private laidOut: TracksLayout;

	constructor(private readonly app: TimelineApp) {
		const { tracks, left_out } = app.timeline.picture;
		const canvas = h('canvas');
		this.stage = h('div', {
			class: 'stage-tracks', id: 'tracks', tabindex: 0, role: 'application', 'aria-roledescription': 'timeline',
			'aria-label': 'Timeline. Arrow keys lead from box to box, Enter finds the rows with its name.',
		}, canvas);
		this.canvas = new TracksCanvas(canvas, this.paint());
		this.laidOut = layOutTracks(app.timeline.picture, 0);
		this.element = h('section', { class: 'picture', 'aria-label': 'Timeline' },
			tracks.length > 0 ? this.stage : h('p', { class: 'none' }, 'Nothing is recorded in this part of the time.'),
			left_out > 0 && h('p', { class: 'remark' }, `${left_out} more rows are not drawn.`), this.legend);
		if (tracks.length > 0) this.listen();
	}

	get layout(): TracksLayout {
		return this.laidOut;
	}

	update(_state: unknown, changed: ReadonlySet<string>): void {
		if (changed.size > 0 && !changed.has('theme') && !changed.has('selected')) return;
		if (!changed.has('selected')) this.changeColours();
		this.draw();
		if (changed.has('selected')) this.showSelected();
	}

	/* Moves the selection as an arrow key asks. */
	arrow(key: string): void {
		this.app.store.update({ selected: boxBeside(this.app.timeline.picture, this.app.store.state.selected, key) });
	}

	nameAt({ track, box }: BoxAt): string {
		const { tracks, frames } = this.app.timeline.picture;
		return frames[boxOf(tracks[track]!, box).frame]!.name;
	}

	private paint(): ReturnType<typeof readPaint> {
		return readPaint(this.app.theme(), INK[this.app.theme()]);
	}

	private changeColours(): void {
		const seen = new Set(this.app.timeline.picture.frames.map(({ layer }) => layer));
		this.canvas.setPaint(this.paint());
		this.legend.replaceChildren(...LAYERS.filter(({ id }) => seen.has(id)).map(({ id, label }) => {
			const swatch = h('span', { class: 'swatch' });
			swatch.style.background = css(layerSwatch(id, this.app.theme()));
			return h('span', { class: 'key' }, swatch, label);
		}));
	}

	private draw(): void {
		const { picture } = this.app.timeline;
		const width = this.stage.clientWidth;
		if (width === 0) return;
		this.laidOut = layOutTracks(picture, width);
		const ticks = ticksOf(picture.length_ns, this.laidOut.width)
			.map((time) => ({ x: time / picture.length_ns, text: time > 0 ? formatTime(time) : '0' }));
		this.canvas.draw({ layout: this.laidOut, columns: picture.columns, frames: picture.frames, ticks, selected: this.app.store.state.selected });
	}

	/* What a box is, and about how long: of what is shorter than a column only the sum is known. */
	private describe({ track, box }: BoxAt): readonly [title: string, ...lines: string[]] {
		const { tracks, frames, length_ns, columns } = this.app.timeline.picture;
		const { first, frame, busyColumns } = stretchOf(tracks[track]!, box);
		const column_ns = length_ns / columns;
		const { full, layer, backward } = frames[frame]!;
		let named = track;
		while (named > 0 && !tracks[named]!.name) named--;
		return [full, `${layerLabel(layer)}${backward ? ', backward' : ''} · ${tracks[named]!.name}`,
			`about ${formatTime(busyColumns * column_ns)} at ${formatTime(column_ns * first)}`];
	}

	private showNote(at: BoxAt, x: number, y: number): void {
		const [title, ...lines] = this.describe(at);
		this.note.fill(h('div', { class: 'name' }, title), ...lines.map((line) => h('div', { class: 'where' }, line)));
		this.note.place(x, y);
	}

	private showSelected(): void {
		const { selected } = this.app.store.state;
		if (!selected) {
			this.note.hide();
			return;
		}
		const { picture } = this.app.timeline;
		const { left, top } = this.stage.getBoundingClientRect();
		const { first } = stretchOf(picture.tracks[selected.track]!, selected.box);
		const x = this.laidOut.left + (first / picture.columns) * this.laidOut.width;
		this.showNote(selected, left + x, top + this.laidOut.rows[selected.track]!.top + ROW);
		this.app.announce(this.describe(selected).join(', '));
	}

	private listen(): void {
		new ResizeObserver(() => this.draw()).observe(this.stage);
		const at = (event: PointerEvent | MouseEvent): BoxAt | null => {
			const { left, top } = this.stage.getBoundingClientRect();
			return boxAtPoint(this.app.timeline.picture, this.laidOut, event.clientX - left, event.clientY - top);
		};
		this.stage.addEventListener('pointermove', (event) => {
			const box = at(event);
			if (box) this.showNote(box, event.clientX, event.clientY);
			else this.note.hide();
		});
		this.stage.addEventListener('pointerleave', () => this.note.hide());
		this.stage.addEventListener('click', (event) => this.app.store.update({ selected: at(event) }));
		this.stage.addEventListener('blur', () => this.app.store.update({ selected: null }));
	}
}
