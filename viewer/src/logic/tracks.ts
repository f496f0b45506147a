/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of a timeline: where its rows and boxes lie, and what is at a point or beside a box. */
import type { Picture, PictureFrame, Track } from '../format/timeline.ts';
import { spellings } from './label.ts';

export const ROW = 16;
export const TOP = 24;
const GAP = 6; /* between threads and streams */
const NAME = 15; /* a name's line, where names stand above their rows */
const NAMES_BESIDE = 640; /* from this width on names stand left of the rows */
const NAMES_WIDTH = 200;

export interface Row {
	readonly top: number;
	readonly nameTop: number; /* of the name's line; -1 without one */
	readonly track: Track;
}

export interface TracksLayout {
	readonly left: number;
	readonly width: number; /* of the rows */
	readonly height: number;
	readonly rows: readonly Row[];
}

export interface BoxAt {
	readonly track: number;
	readonly box: number;
}

export interface TrackBox {
	readonly first: number; /* columns */
	readonly end: number;
	readonly frame: number;
	readonly busy: number; /* 0 to 1 */
}

export function layOutTracks(picture: Picture, width: number): TracksLayout {
	const beside = width >= NAMES_BESIDE;
	const left = beside ? NAMES_WIDTH : 0;
	let y = TOP;
	const rows = picture.tracks.map((track, i) => {
		const named = track.name !== '';
		if (named && i > 0) y += GAP;
		const nameTop = named ? y : -1;
		if (named && !beside) y += NAME;
		const row = { top: y, nameTop, track };
		y += ROW;
		return row;
	});
	return { left, width: Math.max(1, width - left), height: y + GAP, rows };
}

/* Ever shorter names for a box: of "model.py:12 forward" the function; regions are called as they are. */
export function namesOf({ name, layer }: PictureFrame): string[] {
	if (layer === 'python') return [name, name.slice(name.indexOf(' ') + 1)];
	return layer === 'region' ? [name] : spellings(name);
}

export function boxCount(track: Track): number {
	return track.boxes.length / 4;
}

export function boxOf(track: Track, box: number): TrackBox {
	const [first, end, frame, busy] = track.boxes.slice(4 * box, 4 * box + 4);
	return { first: first!, end: end!, frame: frame!, busy: busy! / 100 };
}

export interface Stretch {
	readonly first: number; /* columns */
	readonly end: number;
	readonly frame: number;
	readonly busyColumns: number;
	readonly firstBox: number;
	readonly endBox: number;
}

/* Boxes of one frame that touch, of which a box is one: its ends are less busy than its middle. */
export function stretchOf(track: Track, box: number): Stretch {
	const { frame } = boxOf(track, box);
	const goesOn = (from: number): boolean => from > 0 && from < boxCount(track) &&
		track.boxes[4 * from + 2] === frame && track.boxes[4 * from - 2] === frame && track.boxes[4 * from - 3] === track.boxes[4 * from];
	let [firstBox, endBox, busyColumns] = [box, box + 1, 0];
	while (goesOn(firstBox)) firstBox--;
	while (goesOn(endBox)) endBox++;
	for (let i = firstBox; i < endBox; i++) {
		const { first, end, busy } = boxOf(track, i);
		busyColumns += (end - first) * busy;
	}
	return { first: boxOf(track, firstBox).first, end: boxOf(track, endBox - 1).end, frame, busyColumns, firstBox, endBox };
}

/* The first box that ends behind a column; boxCount() without one. */
export function boxFrom(track: Track, column: number): number {
	let low = 0;
	let high = boxCount(track);
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (track.boxes[4 * middle + 1]! <= column) low = middle + 1;
		else high = middle;
	}
	return low;
}

export function boxAtPoint(picture: Picture, layout: TracksLayout, x: number, y: number): BoxAt | null {
	const column = ((x - layout.left) / layout.width) * picture.columns;
	const track = layout.rows.findIndex(({ top }) => y >= top && y < top + ROW);
	if (track < 0 || column < 0 || column >= picture.columns) return null;
	const { boxes } = picture.tracks[track]!;
	const box = boxFrom(picture.tracks[track]!, column);
	return 4 * box < boxes.length && boxes[4 * box]! <= column ? { track, box } : null;
}

/* The box that an arrow key leads to from a box, or from nowhere; null without any. */
export function boxBeside(picture: Picture, at: BoxAt | null, key: string): BoxAt | null {
	const { tracks } = picture;
	if (!at) {
		const track = tracks.findIndex((one) => boxCount(one) > 0);
		return track < 0 ? null : { track, box: 0 };
	}
	const here = tracks[at.track]!;
	const { first, firstBox, endBox } = stretchOf(here, at.box);
	if (key === 'ArrowLeft') return firstBox > 0 ? { ...at, box: firstBox - 1 } : at;
	if (key === 'ArrowRight') return endBox < boxCount(here) ? { ...at, box: endBox } : at;
	const by = key === 'ArrowUp' ? -1 : 1;
	for (let track = at.track + by; track >= 0 && track < tracks.length; track += by) {
		const count = boxCount(tracks[track]!);
		if (count > 0) return { track, box: Math.min(boxFrom(tracks[track]!, first), count - 1) };
	}
	return at;
}

/* Times at round distances, 2 to 10 of them, fewer where there is little room. */
export function ticksOf(length_ns: number, width: number): number[] {
	if (!(length_ns > 0)) return [];
	const room = Math.max(2, Math.min(10, Math.floor(width / 80)));
	const least = length_ns / room;
	const power = 10 ** Math.floor(Math.log10(least));
	const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= least * 0.999)!;
	return Array.from({ length: Math.floor(length_ns / step) + 1 }, (_, i) => i * step);
}
