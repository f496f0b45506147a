/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them: three significant digits with a unit that suits the size. */

const THIN = ' ';

function digits(value: number): string {
	const size = Math.abs(Number(value.toPrecision(3)));
	if (size === 0) return '0';
	return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

function scaled(value: number, base: number, names: readonly string[]): string {
	let step = 0;
	let size = value;
	while (Math.abs(size) >= base * 0.9995 && step + 1 < names.length) {
		size /= base;
		step++;
	}
	const text = step === 0 && Number.isInteger(size) ? String(size) : digits(size);
	return text + (names[step] ? THIN + names[step] : '');
}

export function grouped(value: number): string {
	const text = Number.isInteger(value) ? String(value) : value.toFixed(2);
	return text.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

export function formatTime(ns: number): string {
	if (Math.abs(ns) >= 119.5e9) {
		const seconds = Math.round(ns / 1e9);
		const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
		return h > 0 ? `${h}${THIN}h ${m}${THIN}min` : `${m}${THIN}min ${s}${THIN}s`;
	}
	return scaled(ns, 1000, ['ns', 'µs', 'ms', 's']);
}

/* Small numbers keep three significant digits. */
function plain(value: number): string {
	if (Math.abs(value) >= 1e6) return scaled(value, 1000, ['', 'k', 'M', 'G', 'T']);
	return value !== 0 && Math.abs(value) < 0.1 ? String(Number(value.toPrecision(3))) : grouped(value);
}

/* Numbers as people read them; of formulas, "ratio" is in percent and "bytes/s" as bytes are. */
export function formatValue(value: number, unit: string): string {
	if (Number.isNaN(value)) return '–';
	if (unit === 'ratio') return `${Number((100 * value).toPrecision(3))}${THIN}%`;
	if (unit === '1/s' || unit === 'bytes/s') return `${formatValue(value, unit.slice(0, -2))}/s`;
	if (unit === 'ns') return formatTime(value);
	if (unit === 'bytes') return scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
	if (unit === '1' || unit === '') return plain(value);
	return scaled(value, 1000, [unit, `k${unit}`, `M${unit}`, `G${unit}`, `T${unit}`]);
}

/* Shares keep two significant digits however small, so that a row is never "0 %". */
export function formatShare(part: number, whole: number): string {
	if (!(whole > 0)) return '–';
	const percent = (100 * part) / whole;
	if (percent === 0) return `0${THIN}%`;
	if (percent < 0.01) return `<${THIN}0.01${THIN}%`;
	return `${percent >= 99.95 ? '100' : percent.toFixed(percent < 1 ? 2 : 1)}${THIN}%`;
}
