/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the rows of a timeline. Knows pixels only: what boxes are and what they are called is given. */
import type { PictureFrame } from '../format/timeline.ts';
import { css, layerColour } from '../logic/colour.ts';
import { fit } from '../logic/label.ts';
import type { MeasureText } from '../logic/label.ts';
import { boxCount, boxOf, namesOf, ROW, stretchOf, TOP } from '../logic/tracks.ts';
import type { BoxAt, TracksLayout } from '../logic/tracks.ts';
import { measurer } from './text.ts';
import type { Paint } from './theme.ts';

const LABEL_LEAST = 34;
const LABEL_FONT = 10.5;
const NAME_FONT = 11.5;

export interface TracksScene {
	readonly layout: TracksLayout;
	readonly columns: number;
	readonly frames: readonly PictureFrame[];
	readonly ticks: readonly { readonly x: number; readonly text: string }[];
	readonly selected: BoxAt | null;
}

export class TracksCanvas {
	private readonly context: CanvasRenderingContext2D;
	private fills: string[] = [];
	private measure: MeasureText;

	constructor(readonly element: HTMLCanvasElement, private paint: Paint) {
		this.context = element.getContext('2d')!;
		this.measure = measurer(this.context, this.font);
	}

	setPaint(paint: Paint): void {
		this.paint = paint;
		this.fills = [];
		this.measure = measurer(this.context, this.font);
	}

	private get font(): string {
		return `${LABEL_FONT}px ${this.paint.font}`;
	}

	draw(scene: TracksScene): void {
		const { layout } = scene;
		const density = window.devicePixelRatio || 1;
		const width = layout.left + layout.width;
		this.element.width = Math.round(width * density);
		this.element.height = Math.round(layout.height * density);
		this.element.style.height = `${layout.height}px`;
		const { context } = this;
		context.setTransform(density, 0, 0, density, 0, 0);
		context.clearRect(0, 0, width, layout.height);
		this.drawAxis(scene);
		for (let i = 0; i < layout.rows.length; i++) this.drawRow(scene, i);
		this.drawNames(layout);
		this.drawSelected(scene);
	}

	private drawAxis({ layout, ticks }: TracksScene): void {
		const { context, paint } = this;
		context.font = this.font;
		context.textBaseline = 'alphabetic';
		for (const { x, text } of ticks) {
			const at = Math.round(layout.left + x * layout.width) + 0.5;
			context.fillStyle = paint.grid;
			context.fillRect(at - 0.5, TOP - 10, 1, layout.height - TOP + 10);
			context.fillStyle = paint.restInk;
			if (at + context.measureText(text).width + 4 < layout.left + layout.width) context.fillText(text, at + 3, TOP - 10);
		}
	}

	private drawRow({ layout, columns, frames }: TracksScene, number: number): void {
		const { context, paint } = this;
		const { top, track } = layout.rows[number]!;
		const density = window.devicePixelRatio || 1;
		const snap = (column: number): number => Math.round((layout.left + (column / columns) * layout.width) * density) / density;
		for (let i = 0; i < boxCount(track); i++) {
			const { first, end, frame, busy } = boxOf(track, i);
			const left = snap(first);
			const right = Math.max(snap(end), left + 1 / density);
			context.globalAlpha = busy < 0.95 ? Math.max(0.15, busy) : 1;
			context.fillStyle = this.fillOf(frames, frame);
			context.fillRect(left, top, right - left, ROW - 1);
			context.globalAlpha = 1;
			if (right - left < LABEL_LEAST) continue;
			context.font = this.font;
			/* the paper shines through those that are pale */
			context.fillStyle = busy < 0.6 ? paint.line : paint.ink;
			context.fillText(fit(namesOf(frames[frame]!), right - left - 6, this.measure, 'front'), left + 3, top + ROW - 4.5);
		}
	}

	private drawNames(layout: TracksLayout): void {
		const { context, paint } = this;
		context.font = `${NAME_FONT}px ${paint.font}`;
		context.fillStyle = paint.restInk;
		const room = (layout.left || layout.width) - 10;
		for (const { nameTop, track } of layout.rows)
			if (nameTop >= 0) context.fillText(fit([track.name], room, (text) => context.measureText(text).width), 0, nameTop + 12);
	}

	private drawSelected({ layout, columns, selected }: TracksScene): void {
		if (!selected) return;
		const { top, track } = layout.rows[selected.track]!;
		const { first, end } = stretchOf(track, selected.box);
		const left = layout.left + (first / columns) * layout.width;
		this.context.strokeStyle = this.paint.accent;
		this.context.lineWidth = 2;
		this.context.strokeRect(left, top, Math.max(2, ((end - first) / columns) * layout.width), ROW - 1);
	}

	private fillOf(frames: readonly PictureFrame[], frame: number): string {
		const { name, layer, backward } = frames[frame]!;
		return (this.fills[frame] ??= css(layerColour(layer, name, this.paint.theme, backward)));
	}
}

