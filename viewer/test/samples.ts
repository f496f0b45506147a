/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles made up for tests: shaped like a training script's, and as large as asked for. */
import { KINDS } from './encode.ts';
import type { Sample, SampleFrame, SampleMetric } from './encode.ts';

/* A tree of frames with values, from which the columns follow. */
export interface Node {
	frame: SampleFrame;
	values?: Record<string, number[]>; /* metric to single values */
	children?: Node[];
}

const METRICS: Record<string, Omit<SampleMetric, 'values' | 'name'>> = {
	'cpu-time': { unit: 'ns', source: 'timer', kind: 'time', period: 5e6 },
	'real-time': { unit: 'ns', source: 'kineto', kind: 'time', period: 0 },
	'gpu-time': { unit: 'ns', source: 'opencl', kind: 'time', period: 0 },
	allocated: { unit: 'bytes', source: 'torch', kind: 'bytes', period: 0 },
	'page-faults': { unit: '1', source: 'perf', kind: 'count', period: 0 },
};

export function sampleOf(root: Node, metricNames: string[], extra: Partial<Sample> = {}): Sample {
	const frames: SampleFrame[] = [];
	const ids = new Map<string, number>();
	const contexts: { frame: number; depth: number }[] = [];
	const metrics = metricNames.map((name) => ({ name, ...METRICS[name]!, values: [] as SampleMetric['values'] }));
	const visit = (node: Node, depth: number): void => {
		const identity = JSON.stringify(node.frame);
		if (!ids.has(identity)) ids.set(identity, frames.push(node.frame) - 1);
		const context = contexts.push({ frame: ids.get(identity)!, depth }) - 1;
		for (const metric of metrics) {
			const values = node.values?.[metric.name];
			if (!values || values.length === 0) continue;
			metric.values.push({
				context,
				count: values.length,
				sum: values.reduce((a, b) => a + b, 0),
				min: Math.min(...values),
				max: Math.max(...values),
				sumSquares: values.reduce((a, b) => a + b * b, 0),
			});
		}
		for (const child of node.children ?? []) visit(child, depth + 1);
	};
	visit(root, 0);
	return {
		properties: {
			program: '/usr/bin/python3', command: 'python3 train.py --epochs 3 --batch-size 64 --model resnet18',
			host: 'anvil', duration_ns: '12340000000', complete: 'true',
		},
		profiles: [0, 1, 2, 3].map((i) => ({
			host: 'anvil', program: '/usr/bin/python3', thread: `python3-${i}`, rank: -1, pid: 4711, tid: 4711 + i, device: false,
			start_ns: 1.7636e18, end_ns: 1.7636e18 + 12.34e9, cpu_ns: 3e9, samples: 600,
		})),
		drops: [],
		frames,
		contexts,
		metrics,
		...extra,
	};
}

/* Small linear congruential generator (Numerical Recipes): the same profile every time. */
export function randomFrom(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 0x100000000;
	};
}

const SOURCES: Record<string, string> = {
	'/home/ada/train.py:41': 'logits = net(images)',
	'/home/ada/train.py:42': 'loss = F.cross_entropy(logits, labels)',
	'/home/ada/train.py:43': 'loss.backward()',
	'/home/ada/train.py:44': 'optimiser.step()',
	'/home/ada/train.py:45': 'log(loss.mean())',
	'/home/ada/train.py:52': 'for images, labels in loader:',
	'/home/ada/train.py:55': 'train(net, images, labels)',
	'/home/ada/train.py:60': 'main()',
	'/home/ada/train.py:3': 'import torch',
	'/home/ada/model.py:22': 'x = self.stem(x)',
	'/home/ada/model.py:23': 'x = self.blocks(x)',
	'/home/ada/model.py:25': 'x = F.relu(x)',
	'/home/ada/model.py:27': 'return self.head(x.flatten(1))',
};

const py = (name: string, file: string, line: number, functionLine: number): SampleFrame =>
	({ kind: 'python', name, file, line, functionLine, ...(file.startsWith('/home/') ? { user: true, source: SOURCES[`${file}:${line}`] ?? 'pass' } : {}) });
const op = (name: string, flags = 0): SampleFrame => ({ kind: 'operator', name, flags });
const native = (name: string, module = '/usr/lib/libtorch_cpu.so', file?: string, line?: number): SampleFrame =>
	({ kind: 'native', name, module, ...(file ? { file, line: line! } : {}) });

const times = (n: number): number[] => Array.from({ length: n }, () => 5e6);

/* A training step: Python line to operator to native code, forward and backward. */
export function training(): Sample {
	const torch = '/usr/lib/python3/dist-packages/torch/nn';
	const kernel = (name: string, n: number, bytes = 0): Node => ({
		frame: native(name), values: { 'cpu-time': times(n), ...(bytes ? { allocated: [bytes, bytes * 2] } : {}) },
		children: [{
			frame: { kind: 'inlined', name: 'at::vec::AVX2::Vectorized<float>::fmadd(at::vec::AVX2::Vectorized<float> const&)', module: '/usr/lib/libtorch_cpu.so', file: '/build/aten/src/ATen/cpu/vec/vec256_float.h', line: 214 },
			values: { 'cpu-time': times(Math.ceil(n / 3)) },
		}],
	});
	const gemm = 'void at::native::(anonymous namespace)::gemm_core_<float, float, at::opmath_type<float>>(at::native::TransposeType, long, long, long, float, float const*, long)';
	const conv = (line: number, n: number): Node => ({
		frame: py('Conv2d.forward', `${torch}/modules/conv.py`, 463, 462), children: [{
			frame: py('Conv2d._conv_forward', `${torch}/modules/conv.py`, 459, 452), children: [{
				frame: op('aten::conv2d'), children: [{
					frame: op('aten::convolution'), children: [{
						frame: op('aten::mkldnn_convolution'), values: { allocated: [1 << 20, 1 << 22, 1 << 18] }, children: [
							kernel('dnnl::impl::cpu::x64::jit_avx512_core_x8s8s32x_convolution_fwd_t<dnnl_f32>::execute_forward_2d(dnnl::impl::exec_ctx_t const&) const', n, 4096 * line),
							{ frame: native('std::_Function_handler<void (int, int), dnnl::impl::parallel(int, std::function<void (int, int)> const&)::{lambda(int, int)#1}>::_M_invoke(std::_Any_data const&, int&&, int&&)'), values: { 'cpu-time': times(Math.ceil(n / 4)) } },
						],
					}],
				}],
			}],
		}],
	});
	const linear = (n: number): Node => ({
		frame: py('Linear.forward', `${torch}/modules/linear.py`, 114, 113), children: [{
			frame: op('aten::linear'), children: [{
				frame: op('aten::addmm'), children: [kernel(gemm, n, 65536), { frame: native('cblas_sgemm', '/usr/lib/libopenblas.so.0'), values: { 'cpu-time': times(n * 2), 'page-faults': [3, 1] } }],
			}],
		}],
	});
	const backward = (name: string, n: number): Node => ({
		frame: op(name, 8), children: [kernel(`at::native::${name.replace(/.*::/, '')}_out_cpu(at::Tensor const&, at::Tensor const&, c10::ArrayRef<long>, at::Tensor&)`, n)],
	});
	const call = (line: number, children: Node[]): Node => ({ frame: py('Module._call_impl', `${torch}/modules/module.py`, line, 1188), children });
	const tiny = Array.from({ length: 60 }, (_, i): Node => ({ frame: native(`c10::impl::helper_${i}(int)`), values: { 'cpu-time': times(1) } }));
	const step: Node = {
		frame: { kind: 'region', name: 'step', flags: 16 }, children: [
			{ frame: py('train', '/home/ada/train.py', 41, 30), children: [call(1194, [
				{ frame: py('Net.forward', '/home/ada/model.py', 22, 18), children: [call(1194, [conv(22, 90)])] },
				{ frame: py('Net.forward', '/home/ada/model.py', 23, 18), children: [call(1194, [conv(23, 160), linear(6)])] },
				{ frame: py('Net.forward', '/home/ada/model.py', 25, 18), children: [{ frame: op('aten::relu'), children: [kernel('at::native::clamp_min_kernel_impl(at::TensorIterator&)', 22)] }] },
				{ frame: py('Net.forward', '/home/ada/model.py', 27, 18), children: [call(1194, [linear(60)])] },
			])] },
			{ frame: py('train', '/home/ada/train.py', 42, 30), children: [
				{ frame: py('cross_entropy', `${torch}/functional.py`, 3026, 2955), children: [{ frame: op('aten::log_softmax'), children: [kernel('at::native::vec_log_softmax_lastdim_kernel(c10::Scalar const&)', 14)] }] }] },
			{ frame: py('train', '/home/ada/train.py', 43, 30), children: [{
				frame: py('Tensor.backward', '/usr/lib/python3/dist-packages/torch/_tensor.py', 487, 428), children: [
					backward('aten::convolution_backward', 240), backward('aten::mm', 70), backward('aten::threshold_backward', 12), backward('aten::native_batch_norm_backward', 31)] }] },
			{ frame: py('train', '/home/ada/train.py', 44, 30), children: [{
				frame: py('SGD.step', '/usr/lib/python3/dist-packages/torch/optim/sgd.py', 76, 58), values: { 'cpu-time': times(9) }, children: [
					{ frame: op('aten::_foreach_add_'), children: [kernel('at::native::foreach_tensor_add_list_kernel_slow_', 26)] }] }] },
			{ frame: py('train', '/home/ada/train.py', 45, 30), children: [{ frame: { kind: 'gpu-api', name: 'clEnqueueNDRangeKernel' }, values: { 'cpu-time': times(11) }, children: [
				{ frame: { kind: 'kernel', name: 'reduce_mean' }, values: { 'gpu-time': [120e3, 130e3, 128e3, 410e3] } }, { frame: { kind: 'kernel', name: 'saxpy' }, values: { 'gpu-time': [60e3, 61e3] } }] }] },
		],
	};
	const root: Node = {
		frame: { kind: 'unknown', name: '' }, children: [
			{ frame: { kind: 'thread', name: 'main thread' }, children: [
				{ frame: native('_start', '/usr/bin/python3.11'), children: [{ frame: native('__libc_start_main', '/usr/lib/libc.so.6'), children: [
					{ frame: py('<module>', '/home/ada/train.py', 60, 1), children: [
						{ frame: py('main', '/home/ada/train.py', 55, 50), children: [step, ...tiny] },
						{ frame: py('main', '/home/ada/train.py', 52, 50), children: [{ frame: py('DataLoader.__next__', '/usr/lib/python3/dist-packages/torch/utils/data/dataloader.py', 628, 620), values: { 'cpu-time': times(40) }, children: [{ frame: { kind: 'os', name: 'read' }, values: { 'cpu-time': times(33) } }] }] },
					] },
					{ frame: py('<module>', '/home/ada/train.py', 3, 1), children: [{ frame: py('_find_and_load', '<frozen importlib._bootstrap>', 1178, 1165), values: { 'cpu-time': times(52) } }] },
				] }] },
			] },
			{ frame: { kind: 'thread', name: 'pt_autograd_0' }, children: [{ frame: native('torch::autograd::Engine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> const&, bool)'), values: { 'cpu-time': times(7) } }] },
		],
	};
	return sampleOf(root, ['cpu-time', 'gpu-time', 'allocated', 'page-faults', 'gpu-copy'].filter((name) => name in METRICS || name === 'gpu-copy').map((name) => name), {
		drops: [{ cause: 'unwind-truncated', text: 'native call paths whose outermost callers are unknown', count: 7 }, { cause: 'sample-busy', text: 'samples that fell inside the collector; their time went to the next', count: 2 }],
	});
}
METRICS['gpu-copy'] = { unit: 'bytes', source: 'opencl', kind: 'bytes', period: 0 };

/* Names that would do harm where text became markup. */
export function hostile(): Sample {
	const name = '</script><img src=x onerror="window.attacked = true">';
	const frame = { kind: 'native', name, module: name, file: name, line: 3, functionLine: 1 };
	return sampleOf({ frame: { kind: 'unknown', name: '' }, children: [{ frame, values: { 'cpu-time': [1, 2] } }] }, ['cpu-time'], {
		properties: { program: name, command: name, host: name },
		drops: [{ cause: name, text: name, count: 1 }],
	});
}

/* A compiled function: one computation of several operations, one of a single one. */
export function compiled(): Sample {
	const fused: Node = { frame: { kind: 'graph-node', name: 'jit_step/fusion', file: '/home/ada/step.py', line: 8 }, values: { 'cpu-time': times(30) } };
	const single: Node = { frame: { kind: 'graph-node', name: 'jit_step/dot', file: '/home/ada/step.py', line: 9 }, values: { 'cpu-time': times(10) } };
	const sample = sampleOf({
		frame: { kind: 'unknown', name: '' }, children: [{
			frame: py('main', '/home/ada/step.py', 20, 15), children: [{ frame: op('jit_step'), children: [fused, single] }],
		}],
	}, ['cpu-time']);
	const frameOf = (name: string): number => sample.frames.findIndex((frame) => frame.name === name);
	const callers = '/home/ada/step.py:20 main > /home/ada/step.py:8 step';
	return {
		...sample, operations: [
			{ frame: frameOf('jit_step/fusion'), name: 'sin', path: 'jit(step)/sin', file: '/home/ada/step.py', line: 7, callers },
			{ frame: frameOf('jit_step/fusion'), name: 'add', path: 'jit(step)/add', file: '/home/ada/step.py', line: 8, callers },
			{ frame: frameOf('jit_step/fusion'), name: 'broadcast', path: 'jit(step)/broadcast' },
			{ frame: frameOf('jit_step/dot'), name: 'dot_general', path: 'jit(step)/dot_general', file: '/home/ada/step.py', line: 9 },
		],
	};
}

/* A program that ended before anything was measured. */
export function empty(): Sample {
	return sampleOf({ frame: { kind: 'thread', name: 'true' } }, [], { profiles: [] });
}

/* One stack of `depth` frames. */
export function deep(depth: number): Sample {
	const sample = sampleOf({ frame: { kind: 'unknown', name: '' } }, ['cpu-time']);
	const frames: SampleFrame[] = [{ kind: 'unknown', name: '' }, { kind: 'native', name: 'recurse', module: '/bin/x' }];
	const contexts = Array.from({ length: depth + 1 }, (_, d) => ({ frame: d === 0 ? 0 : 1, depth: d }));
	sample.metrics[0]!.values.push({ context: depth, count: 1, sum: 5e6, min: 5e6, max: 5e6, sumSquares: 25e12 });
	return { ...sample, frames, contexts };
}

/* `count` contexts of random functions, about 30 deep, with a value at a third of them. */
export function large(count: number, seed = 1): Sample {
	const random = randomFrom(seed);
	const kinds = ['python', 'python', 'operator', 'native', 'native', 'native', 'inlined'];
	const frames: SampleFrame[] = [{ kind: 'unknown', name: '' }];
	for (let i = 0; i < Math.min(20000, Math.max(50, count / 5)); i++) {
		const kind = kinds[Math.floor(random() * kinds.length)]!;
		const machine = kind === 'native' || kind === 'inlined';
		frames.push({
			kind,
			name: kind === 'operator' ? `aten::operator_${i}` : machine ? `lib${i % 40}::detail::Worker<std::vector<float>, ${i}>::run_${i}(int, char const*)` : `module_${i % 90}.function_${i}`,
			...(machine ? { module: `/usr/lib/lib${i % 40}.so` } : {}),
			...(kind === 'operator' ? {} : { file: `/src/part${i % 90}/file${i % 500}.${machine ? 'cc' : 'py'}`, line: 1 + (i % 900), functionLine: 1 + (i % 900) - (i % 7) }),
		});
	}
	const contexts = [{ frame: 0, depth: 0 }];
	const values: SampleMetric['values'] = [];
	const faults: SampleMetric['values'] = [];
	let depth = 0;
	for (let c = 1; c < count; c++) {
		depth = Math.max(1, random() < 0.62 ? Math.min(depth + 1, 60) : depth - Math.floor(random() * random() * 9));
		contexts.push({ frame: 1 + Math.floor(random() ** 2 * (frames.length - 1)), depth });
		if (random() < 0.34) {
			const n = 1 + Math.floor(random() ** 6 * 400);
			values.push({ context: c, count: n, sum: n * 5e6, min: 5e6, max: 5e6, sumSquares: n * 25e12 });
		}
		if (random() < 0.05) faults.push({ context: c, count: 2, sum: 5, min: 1, max: 4, sumSquares: 17 });
	}
	const sample = sampleOf({ frame: frames[0]! }, ['cpu-time', 'page-faults']);
	sample.metrics[0]!.values.push(...values);
	sample.metrics[1]!.values.push(...faults);
	return { ...sample, frames, contexts };
}

export { KINDS };

/* A measurement that lacks something. */
export function incomplete(): Sample {
	return sampleOf({ frame: { kind: 'thread', name: 'main' }, values: { 'cpu-time': [5e6] } }, ['cpu-time'],
		{ properties: { command: 'half', complete: 'false', incomplete: 'a part of the program was not measured: <half>' } });
}
