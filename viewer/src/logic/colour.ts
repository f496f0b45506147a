/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colours of boxes: a hue for each layer, a little lightness from the name so that neighbours can be
 * told apart. Lightness is chosen per theme for a text contrast of at least 4.5 to 1 (tested).
 */

export type Theme = 'light' | 'dark';
export type Rgb = readonly [number, number, number];

interface Tone {
	readonly hue: number;
	readonly chroma: number;
}

/* In the order in which a path meets them: the legend shows them so. */
export const LAYERS: readonly { id: string; label: string; tone: Tone }[] = [
	{ id: 'thread', label: 'Threads', tone: { hue: 260, chroma: 0.008 } },
	{ id: 'region', label: 'Regions', tone: { hue: 98, chroma: 0.115 } },
	{ id: 'python', label: 'Python', tone: { hue: 250, chroma: 0.1 } },
	{ id: 'operator', label: 'Operators', tone: { hue: 58, chroma: 0.12 } },
	{ id: 'native', label: 'Native', tone: { hue: 170, chroma: 0.085 } },
	{ id: 'gpu-api', label: 'GPU API', tone: { hue: 300, chroma: 0.1 } },
	{ id: 'gpu', label: 'GPU', tone: { hue: 352, chroma: 0.12 } },
	{ id: 'os', label: 'OS', tone: { hue: 128, chroma: 0.05 } },
	{ id: 'idle', label: 'Idle', tone: { hue: 260, chroma: 0.015 } },
	{ id: 'other', label: 'Other', tone: { hue: 260, chroma: 0.02 } },
];

const TONES = new Map(LAYERS.map(({ id, tone }) => [id, tone]));
const LIGHTNESS: Record<Theme, number> = { light: 0.815, dark: 0.7 };
const SPREAD: Record<Theme, number> = { light: 0.055, dark: 0.06 };
const DARK_CHROMA = 0.9;
export const INK: Record<Theme, string> = { light: '#14181f', dark: '#0b0e12' };

/* OKLCH (Björn Ottosson, 2020) to sRGB, 0..255, clipped to the gamut. */
export function oklch(lightness: number, chroma: number, hueDegrees: number): Rgb {
	const hue = (hueDegrees * Math.PI) / 180;
	const a = chroma * Math.cos(hue);
	const b = chroma * Math.sin(hue);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
	const linear = [
		4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
		-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
	];
	const encode = (x: number): number => {
		const clipped = Math.min(1, Math.max(0, x));
		return Math.round(255 * (clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055));
	};
	return [encode(linear[0]!), encode(linear[1]!), encode(linear[2]!)];
}

/* FNV-1a to 0..1. */
export function hashUnit(text: string): number {
	let hash = 0x811c9dc5;
	for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
	return ((hash ^ (hash >>> 15)) >>> 0) / 0x100000000;
}

function shade(tone: Tone, theme: Theme, variation: number): Rgb {
	const lightness = LIGHTNESS[theme] + (variation - 0.5) * SPREAD[theme];
	const chroma = theme === 'dark' ? tone.chroma * DARK_CHROMA : tone.chroma;
	return oklch(lightness, chroma, tone.hue + (variation - 0.5) * 14);
}

/* Work for a backward pass is told from forward work by a turn of its layer's hue. */
const BACKWARD_TURN = -30;

export function layerColour(layer: string, name: string, theme: Theme, backward = false): Rgb {
	const tone = TONES.get(layer) ?? TONES.get('other')!;
	return shade(backward ? { ...tone, hue: tone.hue + BACKWARD_TURN } : tone, theme, hashUnit(name));
}

export function layerSwatch(layer: string, theme: Theme): Rgb {
	return shade(TONES.get(layer) ?? TONES.get('other')!, theme, 0.5);
}

/* One hue for each module; frames without one are grey. */
export function moduleColour(module: string, name: string, theme: Theme): Rgb {
	if (!module) return shade({ hue: 260, chroma: 0.012 }, theme, hashUnit(name));
	return shade({ hue: hashUnit(module) * 360, chroma: 0.1 }, theme, 0.35 + 0.3 * hashUnit(name));
}

export function css([r, g, b]: Rgb): string {
	return `rgb(${r},${g},${b})`;
}

function luminance([r, g, b]: Rgb): number {
	const linear = (value: number): number => {
		const x = value / 255;
		return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
	};
	return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/* WCAG 2 contrast ratio. */
export function contrast(one: Rgb, other: Rgb): number {
	const [a, b] = [luminance(one), luminance(other)];
	return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
