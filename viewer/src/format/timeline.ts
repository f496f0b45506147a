/* SPDX-License-Identifier: Apache-2.0 */
/* What a page of `sonde timeline` carries: all of it is in the header (docs/format/html.md). */
import type { Payload } from './decode.ts';

export interface Column {
	readonly key: string;
	readonly head: string;
	readonly unit: string; /* '' text; 'id' is not shown */
	readonly is_minor?: boolean; /* shown when it is asked for */
}

export type Cell = number | string | null;

export interface Sheet {
	readonly key: string;
	readonly title: string;
	readonly shape: 'table' | 'series'; /* series: the first column is the time of a step */
	readonly is_whole: boolean; /* all rows are to be shown at once */
	readonly columns: readonly Column[];
	readonly rows: readonly (readonly Cell[])[];
	readonly row_count: number; /* of which `rows` may be the first only */
	readonly left_out: number;
	readonly notes: readonly string[];
}

export interface PictureFrame {
	readonly name: string;
	readonly full: string;
	readonly layer: string;
	readonly backward: boolean;
}

export interface Track {
	readonly name: string; /* '' as the track above */
	/* Of each box: first column, end, frame, per cent of its time in which it is busy. */
	readonly boxes: readonly number[];
}

export interface Picture {
	readonly length_ns: number;
	readonly columns: number;
	readonly frames: readonly PictureFrame[];
	readonly tracks: readonly Track[];
	readonly left_out: number; /* tracks */
}

export interface Timeline {
	readonly title: string;
	readonly program: string | null;
	readonly sentences: readonly string[];
	readonly picture: Picture;
	readonly sheets: readonly Sheet[];
	readonly curves_left_out: number;
}

export function decodeTimeline(payload: Payload): Timeline {
	const timeline = payload.header as unknown as Timeline;
	if (!Array.isArray(timeline.sheets) || !timeline.picture) throw new Error('the timeline is not whole');
	return timeline;
}
