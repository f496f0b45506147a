/* SPDX-License-Identifier: Apache-2.0 */
/* Draws parallel coordinates: bands between axes, axes with their labels, brushes. Knows pixels only. */
import { fit, spellings } from '../logic/label.ts';
import { darkness, densityOf } from '../logic/parallel.ts';
import type { AxisLabel, Band, Stretch } from '../logic/parallel.ts';
import type { Paint } from './theme.ts';

export const AXES_TOP = 34;
export const AXES_BOTTOM = 12;
const SIDE = 60;
const TICK = 4;
const LABEL_FONT = 11;
const NAME_FONT = 12;

export interface ParallelScene {
	readonly height: number;
	readonly names: readonly string[];
	readonly labels: readonly (readonly AxisLabel[])[];
	readonly all: readonly (readonly Band[])[];
	readonly brushed: readonly (readonly Band[])[] | null;
	readonly brushes: ReadonlyMap<number, Stretch>;
}

/* Where axis i of `count` stands. */
export function axisX(i: number, count: number, width: number): number {
	return SIDE + ((width - 2 * SIDE) * i) / Math.max(1, count - 1);
}

export function axisY(at: number, height: number): number {
	return height - AXES_BOTTOM - at * (height - AXES_TOP - AXES_BOTTOM);
}

export class ParallelCanvas {
	private readonly context: CanvasRenderingContext2D;
	private readonly known = new WeakMap<readonly Band[], Float32Array>();

	constructor(readonly element: HTMLCanvasElement, private paint: Paint) {
		this.context = element.getContext('2d')!;
	}

	setPaint(paint: Paint): void {
		this.paint = paint;
	}

	draw(scene: ParallelScene, width: number): void {
		const density = window.devicePixelRatio || 1;
		this.element.width = Math.round(width * density);
		this.element.height = Math.round(scene.height * density);
		this.element.style.height = `${scene.height}px`;
		const { context, paint } = this;
		context.setTransform(density, 0, 0, density, 0, 0);
		context.clearRect(0, 0, width, scene.height);
		this.drawBands(scene, scene.all, width, scene.brushed ? paint.rest : paint.accent, scene.brushed ? 0.6 : 1);
		if (scene.brushed) this.drawBands(scene, scene.brushed, width, paint.accent, 1);
		this.drawAxes(scene, width);
	}

	/* A picture of the densities between two axes. Those of all rows are kept until the width changes. */
	private densities(bands: readonly Band[], width: number, height: number): Float32Array {
		const known = this.known.get(bands);
		if (known && known.length === width * height) return known;
		const density = densityOf(bands, width, height);
		this.known.set(bands, density);
		return density;
	}

	private drawBands({ height, names }: ParallelScene, pairs: readonly (readonly Band[])[], width: number, colour: string, strength: number): void {
		const tall = height - AXES_TOP - AXES_BOTTOM;
		const [red, green, blue] = this.rgbOf(colour);
		pairs.forEach((bands, i) => {
			const [x0, x1] = [axisX(i, names.length, width), axisX(i + 1, names.length, width)].map(Math.round) as [number, number];
			const density = this.densities(bands, Math.max(1, x1 - x0), tall);
			const most = density.reduce((sum, one) => Math.max(sum, one), 0);
			const image = new ImageData(Math.max(1, x1 - x0), tall);
			density.forEach((one, at) => {
				if (one > 0) image.data.set([red, green, blue, 255 * strength * darkness(one, most)], 4 * at);
			});
			const layer = document.createElement('canvas');
			layer.width = image.width;
			layer.height = image.height;
			layer.getContext('2d')!.putImageData(image, 0, 0);
			this.context.drawImage(layer, x0, AXES_TOP);
		});
	}

	private rgbOf(colour: string): [number, number, number] {
		const probe = document.createElement('canvas').getContext('2d')!;
		probe.fillStyle = colour;
		probe.fillRect(0, 0, 1, 1);
		const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
		return [red!, green!, blue!];
	}

	private drawAxes({ height, names, labels, brushes }: ParallelScene, width: number): void {
		const { context, paint } = this;
		const room = names.length > 1 ? axisX(1, names.length, width) - axisX(0, names.length, width) : width;
		names.forEach((name, i) => {
			const x = axisX(i, names.length, width);
			const isLast = i + 1 === names.length;
			context.strokeStyle = paint.line;
			context.lineWidth = 1;
			context.strokeRect(x, AXES_TOP, 0, height - AXES_TOP - AXES_BOTTOM);
			const brush = brushes.get(i);
			if (brush) this.drawBrush(x, axisY(brush[1], height), axisY(brush[0], height));
			context.font = `600 ${NAME_FONT}px ${paint.font}`;
			context.textAlign = 'center';
			context.fillStyle = paint.line;
			context.fillText(fit([name], Math.min(room, 2 * SIDE) - 8, (text) => context.measureText(text).width, 'front'), x, AXES_TOP - 16);
			context.font = `${LABEL_FONT}px ${paint.font}`;
			context.textAlign = isLast ? 'right' : 'left';
			for (const { at, text } of labels[i]!) this.drawLabel(text, isLast ? x - TICK - 3 : x + TICK + 3, axisY(at, height), x, isLast, room * 0.62);
		});
		context.textAlign = 'left';
	}

	/* With a rim of the paper's colour, because bands run below it. */
	private drawLabel(text: string, x: number, y: number, axis: number, isLast: boolean, room: number): void {
		const { context, paint } = this;
		context.strokeStyle = paint.line;
		context.lineWidth = 1;
		context.beginPath();
		context.moveTo(axis, y);
		context.lineTo(axis + (isLast ? -TICK : TICK), y);
		context.stroke();
		const shown = fit([text, ...spellings(text)], room, (part) => context.measureText(part).width);
		context.strokeStyle = paint.background;
		context.lineWidth = 3.5;
		context.lineJoin = 'round';
		context.strokeText(shown, x, y + 4);
		context.fillStyle = paint.line;
		context.fillText(shown, x, y + 4);
	}

	private drawBrush(x: number, top: number, bottom: number): void {
		const { context, paint } = this;
		context.fillStyle = paint.found;
		context.globalAlpha = 0.45;
		context.fillRect(x - 9, top, 18, bottom - top);
		context.globalAlpha = 1;
		context.strokeStyle = paint.line;
		context.lineWidth = 1.5;
		context.strokeRect(x - 9, top, 18, bottom - top);
	}
}
