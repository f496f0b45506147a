/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a flame graph on two canvases: boxes and text below, and above them the outlines that follow
 * the pointer and the selection, so that moving the pointer redraws next to nothing. Knows pixels
 * only; what the boxes are comes as a Scene.
 */
import type { Box, Layout } from '../logic/layout.ts';
import { FONT_PIXELS, ROW_PIXELS } from './theme.ts';
import type { Paint } from './theme.ts';
import { Labels, measurer } from './text.ts';

/* What one box looks like. */
export interface Look {
	readonly fill: string;
	readonly key: number;
	readonly faded: boolean; /* does not match a search, or is of another layer */
	readonly found: boolean;
	readonly own: number; /* of the box's width, where it is hot; else 0 */
}

export interface Scene {
	readonly layout: Layout;
	readonly scrollTop: number;
	readonly zoomRow: number; /* boxes above it are callers of what is zoomed */
	look(box: Box): Look;
	restLabel(box: Box): string;
}

const PAD = 5;
const LEAST_TEXT = 26;
const FADED = 0.28;
const CALLER = 0.4;
const HOT_BAR = 3;
const PLAIN = 400;
const BOLD = 650;

interface Text {
	readonly x: number;
	readonly y: number;
	readonly text: string;
	readonly alpha: number;
	readonly ink: string;
}

export class FlameCanvas {
	private readonly base: CanvasRenderingContext2D;
	private readonly over: CanvasRenderingContext2D;
	private labels: Labels;
	private boldLabels: Labels;
	private hatch: CanvasPattern | null = null;
	private width = 0;
	private height = 0;

	constructor(
		private readonly baseCanvas: HTMLCanvasElement,
		private readonly overCanvas: HTMLCanvasElement,
		private paint: Paint,
		private spell: (key: number) => string[],
	) {
		this.base = baseCanvas.getContext('2d', { alpha: false })!;
		this.over = overCanvas.getContext('2d')!;
		this.labels = this.newLabels(PLAIN);
		this.boldLabels = this.newLabels(BOLD);
	}

	setPaint(paint: Paint): void {
		this.paint = paint;
		this.hatch = null;
	}

	/* The keys stand for other frames from now on. */
	setSpelling(spell: (key: number) => string[]): void {
		this.spell = spell;
		this.labels = this.newLabels(PLAIN);
		this.boldLabels = this.newLabels(BOLD);
	}

	resize(width: number, height: number, density: number): void {
		this.width = width;
		this.height = height;
		for (const [canvas, context] of [[this.baseCanvas, this.base], [this.overCanvas, this.over]] as const) {
			canvas.width = Math.round(width * density);
			canvas.height = Math.round(height * density);
			canvas.style.width = `${width}px`;
			canvas.style.height = `${height}px`;
			context.setTransform(density, 0, 0, density, 0, 0);
		}
		this.hatch = null;
	}

	draw(scene: Scene): void {
		const { base, paint, width, height } = this;
		base.globalAlpha = 1;
		base.fillStyle = paint.background;
		base.fillRect(0, 0, width, height);
		const texts: Text[] = [];
		const bold: Text[] = [];
		const first = Math.max(0, Math.floor(scene.scrollTop / ROW_PIXELS));
		const last = Math.min(scene.layout.rows.length - 1, Math.floor((scene.scrollTop + height) / ROW_PIXELS));
		for (let row = first; row <= last; row++)
			for (const box of scene.layout.rows[row] ?? []) this.drawBox(scene, box, texts, bold);
		this.drawTexts(texts, this.font(PLAIN));
		this.drawTexts(bold, this.font(BOLD));
		base.globalAlpha = 1;
	}

	/* Outlines of the box under the pointer and of the selected one. */
	drawOver(scrollTop: number, hovered: Box | undefined, selected: Box | undefined): void {
		const { over, paint, width, height } = this;
		over.clearRect(0, 0, width, height);
		const outline = (box: Box, colour: string, line: number): void => {
			const left = Math.max(line / 2, Math.round(box.left));
			const right = Math.min(width - line / 2, Math.max(Math.round(box.right) - 1, left + 2));
			over.strokeStyle = colour;
			over.lineWidth = line;
			over.strokeRect(left, box.row * ROW_PIXELS - scrollTop + line / 2, right - left, ROW_PIXELS - 1 - line);
		};
		if (selected) outline(selected, paint.accent, 2.5);
		if (hovered) outline(hovered, paint.line, 1.5);
	}

	private font(weight: number): string {
		return `${weight} ${FONT_PIXELS}px ${this.paint.font}`;
	}

	private newLabels(weight: number): Labels {
		return new Labels((key) => this.spell(key), measurer(this.base, this.font(weight)));
	}

	private drawBox(scene: Scene, box: Box, texts: Text[], bold: Text[]): void {
		const { base, paint } = this;
		const left = Math.max(0, Math.round(box.left));
		const edge = Math.min(this.width, Math.round(box.right));
		const right = edge - left > 3 ? edge - 1 : edge;
		const top = box.row * ROW_PIXELS - scene.scrollTop;
		const boxWidth = Math.max(1, right - left);
		if (box.rest > 0) {
			this.drawRest(scene, box, left, top, boxWidth, texts);
			return;
		}
		const look = scene.look(box);
		const alpha = (look.faded ? FADED : 1) * (box.row < scene.zoomRow ? CALLER : 1);
		base.globalAlpha = alpha;
		base.fillStyle = look.found ? paint.found : look.fill;
		base.fillRect(left, top, boxWidth, ROW_PIXELS - 1);
		if (look.own > 0) this.drawHot(box, left, right, top, look.own);
		if (boxWidth < LEAST_TEXT) return;
		const text = (look.own > 0 ? this.boldLabels : this.labels).fit(look.key, boxWidth - 2 * PAD);
		if (!text) return;
		(look.own > 0 ? bold : texts).push({
			x: left + PAD,
			y: top + ROW_PIXELS / 2,
			text,
			alpha: 1,
			ink: look.found ? paint.foundInk : look.faded || box.row < scene.zoomRow ? paint.line : paint.ink,
		});
	}

	/* A bar below the part of the box that is its own cost: its children cover the rest. */
	private drawHot(box: Box, left: number, right: number, top: number, own: number): void {
		const from = Math.max(left, box.right - own * (box.right - box.left) - 1);
		this.base.fillStyle = this.paint.hot;
		if (right > from) this.base.fillRect(from, top + ROW_PIXELS - 1 - HOT_BAR, Math.max(2, right - from), HOT_BAR);
	}

	private drawRest(scene: Scene, box: Box, left: number, top: number, boxWidth: number, texts: Text[]): void {
		const { base } = this;
		base.globalAlpha = 1;
		base.fillStyle = this.hatch ??= this.newHatch();
		base.fillRect(left, top, boxWidth, ROW_PIXELS - 1);
		if (boxWidth < 60) return;
		const text = scene.restLabel(box);
		if (measurer(base, this.font(PLAIN))(text) <= boxWidth - 2 * PAD)
			texts.push({ x: left + PAD, y: top + ROW_PIXELS / 2, text, alpha: 1, ink: this.paint.restInk });
	}

	private newHatch(): CanvasPattern {
		const tile = document.createElement('canvas');
		tile.width = tile.height = 6;
		const context = tile.getContext('2d')!;
		context.fillStyle = this.paint.background;
		context.fillRect(0, 0, 6, 6);
		context.strokeStyle = this.paint.rest;
		context.lineWidth = 1.6;
		context.beginPath();
		for (const shift of [-6, 0, 6]) {
			context.moveTo(shift - 1, 7);
			context.lineTo(shift + 7, -1);
		}
		context.stroke();
		return this.base.createPattern(tile, 'repeat')!;
	}

	private drawTexts(texts: Text[], font: string): void {
		const { base } = this;
		base.font = font;
		base.textBaseline = 'middle';
		for (const { x, y, text, alpha, ink } of texts) {
			if (base.fillStyle !== ink) base.fillStyle = ink;
			if (base.globalAlpha !== alpha) base.globalAlpha = alpha;
			base.fillText(text, x, y);
		}
	}
}
